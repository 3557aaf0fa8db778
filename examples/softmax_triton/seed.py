"""
kernelguild:
  steps:
    - kernel: softmax
      grid: [rows]
      arguments: [x, y, cols]
      constants: {BLOCK: 256}
      num_warps: 4
"""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    """One program per row; the row is read three times."""
    x += tl.program_id(0).to(tl.int64) * cols
    y += tl.program_id(0).to(tl.int64) * cols
    offsets = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        values = tl.load(x + start + offsets, mask=start + offsets < cols, other=float("-inf"))
        largest = tl.maximum(largest, values)
    top = tl.max(largest, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        values = tl.load(x + start + offsets, mask=start + offsets < cols, other=float("-inf"))
        total += tl.exp(values - top)
    scale = 1.0 / tl.sum(total, 0)
    for start in range(0, cols, BLOCK):
        inside = start + offsets < cols
        values = tl.load(x + start + offsets, mask=inside, other=0.0)
        tl.store(y + start + offsets, tl.exp(values - top) * scale, mask=inside)
