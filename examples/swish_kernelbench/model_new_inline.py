"""A candidate in KernelBench's own form with a kernel of its own, built by `load_inline`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <cmath>

torch::Tensor swish(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t count = x.numel();
    for (int64_t i = 0; i < count; ++i) {
        out[i] = in[i] / (1.0f + std::exp(-in[i]));
    }
    return y;
}
"""

extension = load_inline(name="swish_inline", cpp_sources=SOURCE, functions=["swish"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    """Swish in one pass over memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.swish(x)
