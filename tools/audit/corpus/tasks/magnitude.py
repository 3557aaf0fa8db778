"""A KernelBench problem whose own inputs are all positive: |x| plus its square."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x.abs() + x * x


def get_inputs():
    return [torch.rand(64, 100)]


def get_init_inputs():
    return []
