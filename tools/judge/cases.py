"""Input data: what the task declares, and what a candidate that cuts corners does not expect."""

from __future__ import annotations

import os

import torch

from ...memory.schema import Distribution, InputSpec

DECLARED = "declared"
CASES = (DECLARED, "normal", "large", "spiky", "trend", "almost_equal", "outlier")
OUTLIERS = 8
NEAR = 4e-2
"""Spread of almost equal data: with less, an honest serial float32 mean of 4,000 values is out of tolerance."""


def reseed(generator: torch.Generator) -> None:
    """Start afresh: enough outputs of this generator show its state, and with it everything that it would draw next."""
    generator.manual_seed(int.from_bytes(os.urandom(7), "little"))


def draw(case: str, spec: InputSpec, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Values of one input in its declared dtype.

    Args:
        case: one of `CASES`; all stay within declared bounds.
        shape: the extents, resolved.
    """
    dtype = getattr(torch, spec.dtype)
    if spec.distribution is Distribution.INTEGERS:
        return integers(case, int(spec.low or 0), int(spec.high or 0), shape, generator).to(dtype)
    if spec.distribution is Distribution.UNIFORM:
        low, high = 0.0 if spec.low is None else spec.low, 1.0 if spec.high is None else spec.high
        return (low + (high - low) * unit(case, shape, generator)).to(dtype)
    return wide(case, shape, generator).to(dtype)


def integers(case: str, low: int, high: int, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """int64 values of `low` to `high` - 1: indices that collide, come in order, or lie at the ends of their range."""
    values = torch.randint(low, high, shape, generator=generator, device=generator.device)
    one = torch.randint(low, high, (1,), generator=generator, device=generator.device)
    match case:
        case "large":
            return torch.where(values % 2 == 0, low, high - 1)
        case "spiky":
            rare = torch.rand(shape, generator=generator, device=generator.device) < 0.01
            return torch.where(rare, values, one)
        case "trend":
            return values.reshape(-1).sort().values.view(shape)
        case "almost_equal":
            return torch.full(shape, int(one), device=generator.device)
        case _:
            return values


def wide(case: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """float32 values of both signs."""
    noise = torch.randn(shape, generator=generator, device=generator.device)
    match case:
        case "large":
            return noise * 60
        case "spiky":
            spikes = torch.rand(shape, generator=generator, device=generator.device) < 0.01
            return torch.where(spikes, noise * 30, noise * 1e-3)
        case "trend":
            return _ramp(shape, generator.device) * 8 - 2 + noise * 0.1
        case "almost_equal":
            return 1 + noise * NEAR
        case "outlier":
            return _with_outliers(noise, 200.0, generator)
        case _:
            return noise


def unit(case: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """float32 values within [0, 1)."""
    noise = torch.rand(shape, generator=generator, device=generator.device)
    match case:
        case "large":
            return torch.where(noise < 0.5, noise * 1e-3, 1 - noise * 1e-3)
        case "spiky":
            return torch.where(noise < 0.01, 1 - noise, noise * 1e-3)
        case "trend":
            return (_ramp(shape, generator.device) * 0.9 + noise * 0.0999).clamp(0, 0.999999)
        case "almost_equal":
            return 0.5 + noise * NEAR
        case "outlier":
            return _with_outliers(noise * 1e-3, 0.9999, generator)
        case _:
            return noise


def _with_outliers(noise: torch.Tensor, value: float, generator: torch.Generator) -> torch.Tensor:
    """Few elements that no sample of the others announces."""
    place = torch.randint(noise.numel(), (OUTLIERS,), generator=generator, device=generator.device)
    noise.view(-1)[place] = value
    return noise


def _ramp(shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    count = 1
    for extent in shape:
        count *= extent
    return torch.linspace(0, 1, count, device=device).view(shape)
