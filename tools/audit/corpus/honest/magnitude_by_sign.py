"""|x| from the sign."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x < 0, -x, x) * (1 + torch.maximum(x, -x))
