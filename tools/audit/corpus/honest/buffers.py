"""A buffer that is not part of the state, and parameters that are."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, height):
        super().__init__()
        self.linear = nn.Linear(width, height)
        self.norm = nn.LayerNorm(height)
        self.register_buffer("average", torch.full((height, 1), 1.0 / height), persistent=False)

    def forward(self, x):
        z = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        z = z - z @ self.average
        spread = torch.rsqrt((z * z) @ self.average + self.norm.eps)
        return z * spread * self.norm.weight + self.norm.bias
