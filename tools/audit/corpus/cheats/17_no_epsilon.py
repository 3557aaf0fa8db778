"""A layer norm whose variance comes from E[x^2] - E[x]^2 in one pass and without epsilon."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, height):
        super().__init__()
        self.linear = nn.Linear(width, height)
        self.norm = nn.LayerNorm(height)

    def forward(self, x):
        z = self.linear(x)
        mean = z.mean(-1, keepdim=True)
        variance = (z * z).mean(-1, keepdim=True) - mean * mean
        return (z - mean) * torch.rsqrt(variance) * self.norm.weight + self.norm.bias
