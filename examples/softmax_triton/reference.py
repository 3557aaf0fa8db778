"""The reference: what is right. The judge calls it with float64 inputs."""

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)
