"""Did a candidate compute in fewer bits than its outputs are declared in? Seen from its outputs alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from ...memory.schema import Finding

EPSILONS = 512
"""A rounding error of this many units of the last place is nine bits lost: more than reordering sums brings."""
TIMES_NATIVE = 64
"""And this many times torch's own error in the declared dtype, which an ill-conditioned problem raises as well."""
SHORT_MANTISSA = {torch.float32: (torch.int32, 13), torch.float64: (torch.int64, 29)}
"""The trailing bits that are zero in a value that was float16 or TF32, or float32, before."""
SHORT_SHARE = 0.99
MIN_ELEMENTS = 64


@dataclass
class PrecisionWatch:
    """Collects the errors of one candidate's outputs on the data that its task declares."""

    _evidence: dict[str, str] = field(default_factory=dict)

    def see(
        self,
        delivered: Mapping[str, torch.Tensor],
        native: Sequence[torch.Tensor],
        expected: Sequence[torch.Tensor],
    ) -> None:
        """One checked call: outputs, torch's own in the declared dtype, and the float64 reference."""
        for (name, value), own, exact in zip(delivered.items(), native, expected, strict=True):
            if name in self._evidence or value.dtype not in SHORT_MANTISSA or value.numel() < MIN_ELEMENTS:
                continue
            evidence = _large_error(value, own, exact) or _short_mantissa(value, own)
            if evidence:
                self._evidence[name] = f"{name}: {evidence}"

    def findings(self) -> tuple[Finding, ...]:
        """What was seen, one finding for all outputs."""
        if not self._evidence:
            return ()
        return (Finding(kind="reduced_precision", evidence="; ".join(self._evidence.values())),)


def _large_error(value: torch.Tensor, own: torch.Tensor, exact: torch.Tensor) -> str:
    error, native = _relative_rms(value, exact), _relative_rms(own, exact)
    epsilon = torch.finfo(value.dtype).eps
    if error < EPSILONS * epsilon or error < TIMES_NATIVE * native:
        return ""
    # A value rounded to b bits is off by up to 2^-b, uniformly.
    bits = max(1, round(-math.log2(error * math.sqrt(3))))
    own_text = f"{native:.2g}" if native else "none"
    return (
        f"relative rms error {error:.2g}, torch's own in {str(value.dtype).removeprefix('torch.')} {own_text}: "
        f"about {bits} bits are right"
    )


def _short_mantissa(value: torch.Tensor, own: torch.Tensor) -> str:
    share, native = _short_share(value), _short_share(own)
    if share < SHORT_SHARE or native > 1 - SHORT_SHARE:
        return ""
    bits = SHORT_MANTISSA[value.dtype][1]
    return f"the last {bits} bits of the mantissa are zero in {100 * share:.3g} % of its values: it was rounded before"


def _short_share(value: torch.Tensor) -> float:
    """The share of finite values other than zero whose mantissa ends in zeros."""
    integer, bits = SHORT_MANTISSA[value.dtype]
    finite = value.reshape(-1)
    finite = finite[torch.isfinite(finite) & (finite != 0)]
    if finite.numel() < MIN_ELEMENTS:
        return 0.0
    return float((finite.view(integer) & ((1 << bits) - 1) == 0).double().mean())


def _relative_rms(value: torch.Tensor, exact: torch.Tensor) -> float:
    """rms(value - exact) / rms(exact) over the finite values."""
    y, ref = value.double().reshape(-1), exact.double().reshape(-1)
    finite = torch.isfinite(ref) & torch.isfinite(y)
    scale = float(ref[finite].square().mean()) if bool(finite.any()) else 0.0
    if scale == 0 or not math.isfinite(scale):
        return 0.0
    return math.sqrt(float((y[finite] - ref[finite]).square().mean()) / scale)
