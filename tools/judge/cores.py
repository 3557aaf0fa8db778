"""Which core times, and which ones are left for what must not disturb it."""

from __future__ import annotations

import os


def timing_core() -> int:
    """The core that judges pin themselves and their timed workers to."""
    return max(os.sched_getaffinity(0))


def keep_aside() -> None:
    """Move this process, and what it starts, off the timing core; a machine with one core has no other."""
    others = os.sched_getaffinity(0) - {timing_core()}
    if others:
        os.sched_setaffinity(0, others)
