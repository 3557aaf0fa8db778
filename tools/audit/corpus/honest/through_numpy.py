"""NumPy does the work on the tensors' own memory."""

import numpy as np
import torch


class ModelNew:
    def __call__(self, x):
        values = x.numpy()
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        return torch.from_numpy(powers / powers.sum(axis=-1, keepdims=True))
