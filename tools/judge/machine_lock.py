"""One lock per machine, outside any home: no two processes time at once, whatever project they belong to."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...memory.errors import HarnessError

FOLDER = Path("/tmp/kernelguild-leases")


@contextmanager
def timing_lock(instance: str) -> Iterator[None]:
    """Hold the timing lease of one device instance; waits as long as somebody else measures.

    The kernel releases it when the holder dies, however it dies.

    Raises:
        HarnessError: the folder or the file is not what it should be.
    """
    descriptor = _open(instance)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(instance: str) -> int:
    name = "".join(character if character.isalnum() else "-" for character in instance)
    try:
        with contextlib.suppress(FileExistsError):
            FOLDER.mkdir()
            # Every user of the machine takes part; the sticky bit keeps them off each other's files.
            FOLDER.chmod(0o1777)
        if not stat.S_ISDIR(FOLDER.lstat().st_mode):
            raise HarnessError(f"{FOLDER} is not a folder; remove it")
        path = FOLDER / f"{name}.lock"
        try:
            # Without O_CREAT first: a sticky folder refuses O_CREAT on somebody else's file.
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HarnessError(f"the machine's timing lock cannot be opened: {error}") from error
