"""What a GPU can do at best, by torch's own copies and matrix products between events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

COPY_BYTES = tuple(1 << power for power in range(20, 32))
"""Bytes moved, read and written together: 1 MiB to 2 GiB; the larger ones are beyond any L2 cache."""
EXTENTS = {"float16": 8192, "bfloat16": 8192, "tfloat32": 8192, "float32": 4096, "float64": 4096}
REPEATS = 8


@dataclass(frozen=True)
class GpuMeter:
    """Times the current GPU."""

    copy_bytes: tuple[int, ...] = COPY_BYTES
    precisions: tuple[str, ...] = tuple(EXTENTS)

    def copy_s(self, moved_bytes: int) -> float:
        source = torch.zeros(moved_bytes // 2, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        return _best_s(lambda: target.copy_(source))

    def matmul_gflop_s(self, precision: str) -> float:
        extent = EXTENTS[precision]
        dtype = torch.float32 if precision == "tfloat32" else getattr(torch, precision)
        # Random values: constants draw less power, and clocks rise beyond what real data sees.
        left = torch.randn((extent, extent), device="cuda").to(dtype)
        right, product = left.clone(), torch.empty_like(left)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tfloat32"
        try:
            return 2 * extent**3 / _best_s(lambda: torch.matmul(left, right, out=product)) / 1e9
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False


def _best_s(body: Callable[[], object]) -> float:
    """The shortest of a few calls between events; the first, cold one does not count."""
    body()
    times_ms = []
    for _ in range(REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        body()
        end.record()
        end.synchronize()
        times_ms.append(float(start.elapsed_time(end)))
    return min(times_ms) / 1e3
