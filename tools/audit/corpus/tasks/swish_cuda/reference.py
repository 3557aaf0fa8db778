"""What is right: x * sigmoid(x), element by element."""

import torch


def swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)
