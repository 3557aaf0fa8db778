"""A small class with slots and a class constant, no torch module at all."""

import torch


class ModelNew:
    __slots__ = ("scale",)
    LOG2E = 1.4426950408889634

    def __init__(self):
        self.scale = self.LOG2E

    def __call__(self, x):
        shifted = (x - x.amax(dim=-1, keepdim=True)) * self.scale
        powers = torch.exp2(shifted)
        return powers / powers.sum(dim=-1, keepdim=True)
