"""The transposed weight is kept until the weight changes."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, height):
        super().__init__()
        self.linear = nn.Linear(width, height)
        self.norm = nn.LayerNorm(height)
        self.version = None

    def forward(self, x):
        weight = self.linear.weight
        if self.version != weight._version:
            self.packed, self.version = weight.t().contiguous(), weight._version
        return self.norm(torch.addmm(self.linear.bias, x, self.packed))
