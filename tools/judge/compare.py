"""Is an output right? Against a float64 reference, with a tolerance that scales with the data."""

from __future__ import annotations

import math

import torch

from ...memory.schema import OutputError, Tolerance

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By width in bytes."""


def compare(name: str, actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> OutputError:
    """Measure one output.

    Args:
        actual: what the candidate delivered, in its declared dtype.
        expected: the reference, float64 (or the exact integers), same shape.

    An element passes where |y - ref| <= relative * |ref| + rms * rms(ref) over the finite part of ref. Where the
    reference is not finite, the output must be the same infinity, or NaN for NaN. Integers must be equal.
    """
    exact = not expected.is_floating_point()
    y, ref = actual.to(torch.float64).reshape(-1), expected.to(torch.float64).reshape(-1)
    finite = torch.isfinite(ref)
    if exact and not actual.is_floating_point():
        # Beyond 2**53 different integers are the same float64; a difference of one shows at least as the smallest.
        differs = actual.reshape(-1) != expected.reshape(-1)
        y = torch.where(differs & (y == ref), torch.nextafter(ref, torch.full_like(ref, torch.inf)), y)
    same = torch.where(finite, torch.zeros_like(finite), (y == ref) | (torch.isnan(y) & torch.isnan(ref)))
    error = torch.where(finite, (y - ref).abs(), torch.inf)
    error = torch.where(torch.isnan(error), torch.inf, error).masked_fill(same, 0.0)
    allowed = torch.zeros_like(ref) if exact else _allowed(ref, finite, tolerance)
    # 0 / 0 is a match: an exact zero where nothing else is allowed.
    ratio = torch.where(error == 0, torch.zeros_like(error), error / allowed)
    worst = int(ratio.argmax()) if ratio.numel() else 0
    return OutputError(
        output=name,
        max_abs_error=float(error.max()) if error.numel() else 0.0,
        tolerance_ratio=float(ratio.max()) if ratio.numel() else 0.0,
        mismatched=int((ratio > 1).sum()),
        elements=ref.numel(),
        worst_index=_index(worst, tuple(expected.shape)),
        worst_value=float(y[worst]) if ratio.numel() else None,
        worst_expected=float(ref[worst]) if ratio.numel() else None,
    )


def agrees(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """Whether `compare` would find nothing wrong; False also where only `compare` can tell."""
    if not expected.is_floating_point():
        return bool((actual == expected).all())
    y, ref = actual.to(torch.float64).reshape(-1), expected.to(torch.float64).reshape(-1)
    rms = float(torch.linalg.vector_norm(ref)) / max(1, ref.numel()) ** 0.5
    if not math.isfinite(rms):
        return False
    allowed = ref.abs().mul_(tolerance.relative).add_(tolerance.rms * rms)
    # A NaN compares as false.
    return bool((y - ref).abs_().le_(allowed).all())


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two contiguous tensors of one dtype hold the same, NaN for NaN and sign of zero for sign of zero."""
    # Four times as fast as byte by byte.
    kind = INTEGERS[left.element_size()]
    return torch.equal(left.reshape(-1).view(kind), right.reshape(-1).view(kind))


def _allowed(ref: torch.Tensor, finite: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    clean = torch.where(finite, ref, torch.zeros_like(ref))
    count = max(1, int(finite.sum()))
    # Scaled by the largest value: its square may be beyond float64, and an infinite rms would allow everything.
    largest = float(clean.abs().max()) or 1.0
    rms = largest * float((clean / largest).square().sum() / count) ** 0.5
    return torch.add(tolerance.relative * clean.abs(), tolerance.rms * rms)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))
