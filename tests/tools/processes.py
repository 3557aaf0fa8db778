"""Looking at processes from outside: who descends from whom, and waiting for an end."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path


def descendants(process: int) -> Iterator[int]:
    """All processes below this one, parents first."""
    for child in children(process):
        yield child
        yield from descendants(child)


def children(process: int) -> list[int]:
    """The processes that this one started and that still exist."""
    try:
        lists = [file.read_text(encoding="ascii") for file in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:  # it has just ended
        return []
    return [int(child) for text in lists for child in text.split()]


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:
        return ""


def name(process: int) -> str:
    """What a process calls its main thread."""
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def ended_within(processes: list[int], timeout_s: float) -> bool:
    """Whether all of these (pidfds) end in time."""
    return all(select.select([pidfd], [], [], timeout_s)[0] for pidfd in processes)


def watch(processes: Iterator[int]) -> list[int]:
    """Their pidfds; those that are gone already are left out."""
    found = []
    for process in processes:
        try:
            found.append(os.pidfd_open(process))
        except ProcessLookupError:
            continue
    return found
