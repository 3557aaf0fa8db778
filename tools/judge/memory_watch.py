"""How much memory a worker's processes use together, seen from process 1 of their namespace.

A limit on one address space is no limit on several processes, and none at all where address space is reserved unused.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator

WATCH_INTERVAL_S = 0.05
_OWN_MEMORY = re.compile(rb"^(?:RssAnon|RssShmem):\s*(\d+) kB$", re.MULTILINE)


class MemoryWatch:
    """Counts what the descendants of this process hold beyond what they were forked with."""

    def __init__(self, proc: int, limit_bytes: int, shared_bytes: int) -> None:
        self._proc = proc
        self._limit_bytes = limit_bytes
        # The judge's own shared memory is not the worker's.
        self._start_bytes = _own_bytes(proc, "self") + shared_bytes

    def is_exceeded(self) -> bool:
        """Whether they hold more than the limit."""
        held = (_own_bytes(self._proc, process) - self._start_bytes for process in self._descendants("self"))
        return sum(bytes_ for bytes_ in held if bytes_ > 0) > self._limit_bytes

    def _descendants(self, process: str) -> Iterator[str]:
        for thread in _threads(self._proc, process):
            for child in _read(self._proc, f"{process}/task/{thread}/children").split():
                name = child.decode()
                yield name
                yield from self._descendants(name)


def address_space_bytes(proc: int) -> int:
    """The size of this process's address space."""
    return int(_read(proc, "self/statm").split()[0]) * resource.getpagesize()


def _own_bytes(proc: int, process: str) -> int:
    return 1024 * sum(int(kilobytes) for kilobytes in _OWN_MEMORY.findall(_read(proc, f"{process}/status")))


def _threads(proc: int, process: str) -> list[str]:
    try:
        descriptor = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:  # it has ended
        return []
    try:
        with os.scandir(descriptor) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []
    finally:
        os.close(descriptor)


def _read(proc: int, path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:  # it has ended
        return b""
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
