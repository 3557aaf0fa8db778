"""A KernelBench problem: x * sigmoid(x), element by element."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x * torch.sigmoid(x)


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return []
