"""Rows in two halves through a pool of threads that lives as long as the model."""

from concurrent.futures import ThreadPoolExecutor

import torch


class ModelNew:
    def __init__(self):
        self.pool = ThreadPoolExecutor(2)

    def __call__(self, x):
        return torch.cat(list(self.pool.map(lambda part: torch.softmax(part, dim=-1), x.chunk(2))))
