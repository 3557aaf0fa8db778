"""Input data: what the task declares, and what a candidate that cuts corners does not expect."""

from __future__ import annotations

import os

import torch

from ...memory.schema import Distribution, InputSpec

DECLARED = "declared"
CASES = (DECLARED, "normal", "large", "spiky", "trend", "almost_equal")


def reseed(generator: torch.Generator) -> None:
    """Start afresh: enough outputs of this generator show its state, and with it everything that it would draw next."""
    generator.manual_seed(int.from_bytes(os.urandom(7), "little"))


def draw(case: str, spec: InputSpec, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Values of one input in its declared dtype.

    Args:
        case: one of `CASES`; integer inputs are drawn as declared in every case.
        shape: the extents, resolved.
    """
    dtype = getattr(torch, spec.dtype)
    if spec.distribution is Distribution.INTEGERS:
        bounds = int(spec.low or 0), int(spec.high or 0)
        return torch.randint(*bounds, shape, generator=generator, device=generator.device).to(dtype)
    if spec.distribution is Distribution.UNIFORM:
        low, high = 0.0 if spec.low is None else spec.low, 1.0 if spec.high is None else spec.high
        return (low + (high - low) * unit(case, shape, generator)).to(dtype)
    return wide(case, shape, generator).to(dtype)


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
            return 1 + noise * 1e-3
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
            return 0.5 + noise * 1e-3
        case _:
            return noise


def _ramp(shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    count = 1
    for extent in shape:
        count *= extent
    return torch.linspace(0, 1, count, device=device).view(shape)
