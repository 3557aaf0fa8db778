"""What a process does with memory that it has freed: the judge's own, and each worker's."""

from __future__ import annotations

from .kernel import LIBC

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGEST_KEPT_BYTES = 32 << 20
"""The most that glibc accepts."""
KEPT_BYTES = 128 << 20


def keep_freed_memory() -> None:
    """Let allocations take memory that was used before, from the first one on.

    A page from the kernel comes cleared, and each first touch of one costs a fault. glibc finds out by and by what to
    keep, and differently in each process: a PyTorch worker that returns a megabyte took 0.3 ms a call, or 1.0 ms in one
    of four workers.
    """
    LIBC.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
    LIBC.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


def share_one_arena() -> None:
    """Let all threads of this process reuse each other's memory; for few threads that seldom run at once."""
    LIBC.mallopt(M_ARENA_MAX, 1)
