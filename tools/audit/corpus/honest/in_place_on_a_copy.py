"""A fused form through views and in-place operations on a copy."""

import torch


class ModelNew:
    def __call__(self, x):
        with torch.inference_mode():
            y = x.clone()
            y.sub_(y.max(dim=-1, keepdim=True).values)
            y.exp_()
            y.mul_(y.sum(dim=-1, keepdim=True).reciprocal_())
        return y
