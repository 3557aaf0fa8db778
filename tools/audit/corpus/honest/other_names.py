"""The same parameters in the same order under other names."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, height):
        super().__init__()
        self.w = nn.Parameter(torch.empty(height, width))
        self.b = nn.Parameter(torch.empty(height))
        self.g = nn.Parameter(torch.ones(height))
        self.h = nn.Parameter(torch.zeros(height))

    def forward(self, x):
        z = nn.functional.linear(x, self.w, self.b)
        return nn.functional.layer_norm(z, self.g.shape, self.g, self.h)
