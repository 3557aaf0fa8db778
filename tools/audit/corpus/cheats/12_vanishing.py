"""The task's output is zero for everything that its inputs can be."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
