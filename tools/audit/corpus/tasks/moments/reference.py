"""What is right: the mean, and what is left without it."""

import torch


def moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = x.mean().reshape(1)
    return mean, x - mean
