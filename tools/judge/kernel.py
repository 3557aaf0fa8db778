"""The C library's door to the kernel, for what Python's standard library does not wrap."""

from __future__ import annotations

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38


def check(result: int, what: str) -> int:
    """The result of a call.

    Raises:
        OSError: it is negative; `what` is the error's file name.
    """
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)
    return result
