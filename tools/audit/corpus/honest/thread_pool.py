"""One half of the rows on a thread that lives as long as the model, the other half on its own."""

from concurrent.futures import ThreadPoolExecutor

import torch


class ModelNew:
    def __init__(self):
        torch.set_num_threads(1)  # each thread would start helpers of its own
        self.pool = ThreadPoolExecutor(1)

    def __call__(self, x):
        middle = x.shape[0] // 2
        first = self.pool.submit(torch.softmax, x[:middle], -1)
        second = torch.softmax(x[middle:], dim=-1)
        return torch.cat((first.result(), second))
