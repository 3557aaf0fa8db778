"""The right values in another dtype."""

import torch


class ModelNew:
    def __call__(self, x):
        return torch.softmax(x.double(), dim=-1)
