"""A KernelBench problem with parameters: a linear layer, then a layer norm."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, height):
        super().__init__()
        self.linear = nn.Linear(width, height)
        self.norm = nn.LayerNorm(height)

    def forward(self, x):
        return self.norm(self.linear(x))


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48, 40]
