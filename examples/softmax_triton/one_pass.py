"""
kernelguild:
  steps:
    # A row is read once and stays in registers; longer rows get more warps.
    - kernel: softmax
      grid: [rows]
      arguments: [x, y, cols]
      when: cols <= 1024
      constants: {BLOCK: next_power_of_2(cols)}
      num_warps: 4
    - kernel: softmax
      grid: [rows]
      arguments: [x, y, cols]
      when: (cols > 1024) * (cols <= 4096)
      constants: {BLOCK: next_power_of_2(cols)}
      num_warps: 8
    - kernel: softmax
      grid: [rows]
      arguments: [x, y, cols]
      when: cols > 4096
      constants: {BLOCK: next_power_of_2(cols)}
      num_warps: 16
"""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    """One program per row, the whole row in one block."""
    row = tl.program_id(0).to(tl.int64) * cols
    offsets = tl.arange(0, BLOCK)
    inside = offsets < cols
    values = tl.load(x + row + offsets, mask=inside, other=float("-inf"))
    exponents = tl.exp(values - tl.max(values, 0))
    tl.store(y + row + offsets, exponents / tl.sum(exponents, 0), mask=inside)
