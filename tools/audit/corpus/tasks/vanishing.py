"""A KernelBench problem whose output is zero for all the data that it declares; the lint must refuse it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.relu(x - 1000)


def get_inputs():
    return [torch.rand(32, 100)]


def get_init_inputs():
    return []
