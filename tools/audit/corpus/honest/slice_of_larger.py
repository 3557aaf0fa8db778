"""Pads to a multiple of 64 columns and returns a slice of the padded result."""

import torch


class ModelNew:
    def __call__(self, x):
        padded = torch.nn.functional.pad(x, (0, -x.shape[1] % 64), value=float("-inf"))
        return torch.softmax(padded, dim=-1)[:, : x.shape[1]]
