"""A candidate in KernelBench's own form: `ModelNew` with the interface of the problem's `Model`."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Swish in one pass: torch's fused SiLU reads and writes each element once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(x)
