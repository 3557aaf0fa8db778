"""Uses what is there."""

import torch

try:
    import package_that_is_not_there as fast
except ImportError:
    fast = None


class ModelNew:
    def __call__(self, x):
        if fast is not None:
            return fast.softmax(x)
        y = x - x.amax(dim=-1, keepdim=True)
        return y.exp_().div_(y.sum(dim=-1, keepdim=True))


torch.set_flush_denormal(False)
