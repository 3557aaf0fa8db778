"""What follows from the shape alone is kept: here the columns of each block."""

from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def blocks(cols, width=128):
    return [slice(start, min(start + width, cols)) for start in range(0, cols, width)]


class ModelNew:
    def __call__(self, x):
        top = x.amax(dim=-1, keepdim=True)
        parts = [torch.exp(x[:, block] - top) for block in blocks(x.shape[1])]
        total = sum(part.sum(dim=-1, keepdim=True) for part in parts)
        return torch.cat(parts, dim=-1) / total
