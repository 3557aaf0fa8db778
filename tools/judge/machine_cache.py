"""What was measured about this machine, kept between processes beside the leases; each user has files of their own."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ...memory.schema import Record
from .leases import machine_folder, safe_name

MAX_BYTES = 1 << 16
Kept = TypeVar("Kept", bound=Record)


def load(name: str, kind: type[Kept]) -> Kept | None:
    """A record of this user, or None where there is none: another's, a link and a damaged file count as none."""
    try:
        descriptor = os.open(_path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        # The folder belongs to every user of the machine; only its own figures bind a judge.
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            return None
        try:
            return kind.model_validate_json(file.read(MAX_BYTES))
        except ValidationError:
            return None


def save(name: str, record: Record) -> None:
    """Keep a record; where it cannot be kept, it is measured again next time."""
    with contextlib.suppress(OSError), tempfile.NamedTemporaryFile(dir=machine_folder(), delete=False) as file:
        try:
            file.write(record.model_dump_json().encode())
            file.flush()
            Path(file.name).replace(_path(name))
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise


def _path(name: str) -> Path:
    return machine_folder() / f"{safe_name(name)}-{os.getuid()}.json"
