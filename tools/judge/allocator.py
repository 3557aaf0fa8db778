"""What the judge's process does with memory that it has freed."""

from __future__ import annotations

from .kernel import LIBC

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGEST_KEPT_BYTES = 32 << 20
"""The most that glibc accepts."""
KEPT_BYTES = 512 << 20


def keep_freed_memory() -> None:
    """Let tensors take memory that was used before.

    A page from the kernel comes cleared, and each first touch of one costs a fault: a float64 comparison of a megabyte
    takes five times as long over fresh pages. One arena serves all threads.
    """
    LIBC.mallopt(M_ARENA_MAX, 1)
    LIBC.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
    LIBC.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
