"""What is right: 7 x + 3 modulo 257, never negative."""

import torch


def remainder(x: torch.Tensor) -> torch.Tensor:
    return torch.remainder(7 * x + 3, 257)
