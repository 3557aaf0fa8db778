"""Warns, logs and prints before it works."""

import logging
import sys
import warnings

import torch


class ModelNew:
    def __call__(self, x):
        warnings.warn("this kernel is experimental", stacklevel=1)
        logging.getLogger(__name__).warning("softmax of %s", tuple(x.shape))
        print("x" * 200, file=sys.stderr)
        return torch.softmax(x, dim=-1)
