"""What a device can do at most, as far as torch shows: copies by size and matrix products by dtype."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from ...memory.schema import Device, Record
from . import machine_cache

COPY_BYTES = tuple(1 << power for power in range(18, 28))
"""Bytes moved, read and written together: 256 KiB to 128 MiB. Below, a call's own cost hides the copy's."""
Key = TypeVar("Key")
MATMUL_EXTENT = 512
REPEAT_S = 0.03
MAX_AGE_S = 7 * 24 * 3600.0


class Peaks(Record):
    """The best rates seen on one device instance."""

    copy_gb_s: dict[int, float]
    """Bytes moved (read and written together) -> 1e9 bytes a second; data is in whatever cache holds it."""
    matmul_gflop_s: dict[str, float]
    """dtype -> 1e9 floating-point operations a second."""
    measured_at_s: float
    """Unix seconds."""

    def fastest_copy_gb_s(self, moved_bytes: float) -> float | None:
        """The best rate for this many bytes or more; None where a copy is too short to be timed."""
        smaller = [size for size in self.copy_gb_s if size <= moved_bytes]
        if not smaller:
            return None
        return max(rate for size, rate in self.copy_gb_s.items() if size >= max(smaller))

    def fastest_gflop_s(self) -> float | None:
        """The best over all dtypes: a candidate may compute in a narrower one."""
        return max(self.matmul_gflop_s.values(), default=None)

    def merged(self, other: Peaks) -> Peaks:
        """The better of both, figure by figure: a busy machine only ever shows too little."""
        return Peaks(
            copy_gb_s=_best(self.copy_gb_s, other.copy_gb_s),
            matmul_gflop_s=_best(self.matmul_gflop_s, other.matmul_gflop_s),
            measured_at_s=max(self.measured_at_s, other.measured_at_s),
        )


class Meter(Protocol):
    """How one kind of device is measured."""

    @property
    def copy_bytes(self) -> tuple[int, ...]:
        """The sizes to copy: bytes moved, read and written together."""
        ...

    @property
    def precisions(self) -> tuple[str, ...]:
        """The dtypes of matrix products; `tfloat32` is float32 rounded to TF32."""
        ...

    def copy_s(self, moved_bytes: int) -> float:
        """The best time of one copy."""
        ...

    def matmul_gflop_s(self, precision: str) -> float:
        """The best rate of a square matrix product."""
        ...


@dataclass(frozen=True)
class CpuMeter:
    """Times torch's own copy and matrix product on the processor."""

    threads: int = 1
    """How many work together."""
    copy_bytes: tuple[int, ...] = COPY_BYTES
    precisions: tuple[str, ...] = ("float32", "float64", "bfloat16")

    def copy_s(self, moved_bytes: int) -> float:
        source = torch.zeros(moved_bytes // 2, dtype=torch.uint8)
        target = torch.empty_like(source)
        return self._best(lambda: target.copy_(source))

    def matmul_gflop_s(self, precision: str) -> float:
        left = torch.ones((MATMUL_EXTENT, MATMUL_EXTENT), dtype=getattr(torch, precision))
        right, product = left.clone(), torch.empty_like(left)
        return 2 * MATMUL_EXTENT**3 / self._best(lambda: torch.matmul(left, right, out=product)) / 1e9

    def _best(self, body: Callable[[], object]) -> float:
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            return _best_time(body)
        finally:
            torch.set_num_threads(before)


def measured_peaks(device: Device, threads: int, meter: Meter, now_s: float, *, fresh: bool = False) -> Peaks:
    """The device's peaks: kept from before, or measured now, in half a second. Hold the timing lease.

    Args:
        threads: those that work together on a CPU; peaks are kept for each number.
        fresh: measure again, and let the better figures count.
    """
    name = f"peaks-{device.instance}-{device.model}-{threads}t"
    kept = machine_cache.load(name, Peaks)
    if kept is not None and not fresh and 0 <= now_s - kept.measured_at_s < MAX_AGE_S:
        return kept
    measured = Peaks(
        copy_gb_s={size: size / meter.copy_s(size) / 1e9 for size in meter.copy_bytes},
        matmul_gflop_s={precision: meter.matmul_gflop_s(precision) for precision in meter.precisions},
        measured_at_s=now_s,
    )
    peaks = measured.merged(kept) if kept is not None and fresh else measured
    machine_cache.save(name, peaks)
    return peaks


def _best_time(body: Callable[[], object]) -> float:
    """The shortest of the calls that fit into a moment, three at least; the first, cold one does not count."""
    body()
    best_s = float("inf")
    deadline_s = time.perf_counter() + REPEAT_S
    calls = 0
    while calls < 3 or time.perf_counter() < deadline_s:
        start_s = time.perf_counter()
        body()
        best_s = min(best_s, time.perf_counter() - start_s)
        calls += 1
    return best_s


def _best(left: dict[Key, float], right: dict[Key, float]) -> dict[Key, float]:
    return {key: max(left.get(key, 0.0), right.get(key, 0.0)) for key in left | right}
