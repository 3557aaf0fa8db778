"""One static output for each shape, filled anew in every call."""

import torch


class ModelNew:
    def __init__(self):
        self.outputs = {}

    def __call__(self, x):
        y = self.outputs.setdefault(x.shape, torch.empty_like(x))
        return torch.softmax(x, dim=-1, out=y)
