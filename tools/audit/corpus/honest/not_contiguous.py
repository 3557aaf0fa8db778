"""Works on the transpose and returns a view of it."""

import torch


class ModelNew:
    def __call__(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
