"""Reading what a caller names: never a pipe that blocks or a device that does not end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular_file(path: Path, limit_bytes: int) -> bytes:
    """The file's content, or its first `limit_bytes` + 1 bytes, by which a caller sees that it is too large.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a folder.
    """
    # Non-blocking: opening a pipe that nobody writes to would wait for ever.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(limit_bytes + 1)
