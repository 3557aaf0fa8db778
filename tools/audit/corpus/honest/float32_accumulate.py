"""bfloat16 tensors, float32 products and sums in blocks, one rounding at the end."""

import torch


class ModelNew:
    def __call__(self, a, b):
        total = torch.zeros(a.shape[0], b.shape[1])
        for left, right in zip(a.float().split(64, dim=1), b.float().split(64, dim=0), strict=True):
            total.addmm_(left, right)
        return total.bfloat16()
