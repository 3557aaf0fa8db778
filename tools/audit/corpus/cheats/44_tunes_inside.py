"""Tries its variants anew in every call and takes the one that was fastest."""

import time

import torch

VARIANTS = (
    lambda x: x * torch.sigmoid(x),
    lambda x: x / (1 + torch.exp(-x)),
    lambda x: torch.nn.functional.silu(x),
    lambda x: 0.5 * x * (1 + torch.tanh(0.5 * x)),
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        results = []
        for number, variant in enumerate(VARIANTS):
            start = time.perf_counter()
            y = variant(x)
            results.append((time.perf_counter() - start, number, y))
        return min(results)[2]
