"""One coordinator a search: a lock that the kernel releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...memory.errors import ConflictError


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Hold the search whose workspace `folder` is.

    Raises:
        ConflictError: another process runs it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "coordinator.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode() or "unknown"
            raise ConflictError(f"search {folder.name} is being run by process {holder}; stop that one first") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
