"""Who a process is: its pid and its start time, as /proc says."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import UnavailableError
from .schema import ProcessIdentity

# Fields of /proc/<pid>/stat after the command's closing parenthesis; proc(5) numbers them from 3.
_STATE = 3 - 3
_START_TICKS = 22 - 3
_DEAD = frozenset("ZXx")


def find_process(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now; None where there is none, or one that has ended and waits for its parent."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command may hold spaces and parentheses itself.
    fields = text.rpartition(")")[2].split()
    if fields[_STATE] in _DEAD:
        return None
    return ProcessIdentity(pid=pid, start_ticks=int(fields[_START_TICKS]))


def this_process() -> ProcessIdentity:
    """The calling process.

    Raises:
        UnavailableError: the host has no /proc.
    """
    identity = find_process(os.getpid())
    if identity is None:
        raise UnavailableError("jobs need /proc to tell a live server from a dead one: run on Linux with /proc mounted")
    return identity
