"""Leaving the machine's namespaces, turning into another user, and dying with the parent.

Everything here runs in a freshly forked, single-threaded child, through system calls alone.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from .access import IPC, MOUNT, NETWORK, PID, USER
from .kernel import LIBC, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, check

FLAGS = {USER: 0x10000000, PID: 0x20000000, NETWORK: 0x40000000, IPC: 0x08000000, MOUNT: 0x00020000}
NOBODY = 65534


def die_with_parent(parent: int | None = None) -> None:
    """Be killed when the parent dies, and be closed to debuggers; `parent` is its pidfd.

    A parent that died before this call would never be noticed; with its pidfd, this process ends at once.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if parent is not None and select.select([parent], [], [], 0)[0]:
        os._exit(1)


@contextmanager
def machine_proc() -> Iterator[int]:
    """A descriptor of the machine's /proc, which a worker's own root lacks."""
    descriptor = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def be_dumpable() -> None:
    """Own one's entries in /proc, as the CUDA driver must; in a namespace where nobody else could look at them."""
    LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def other_user() -> int | None:
    """For root: the user that workers become, because most limits do not bind root; None where there is no other."""
    if os.getuid() != 0:
        return None
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines()]
    return NOBODY if any(0 <= NOBODY - int(start) < int(count) for start, _, count in ranges) else None


def unshare(layers: Collection[str], proc: int, *, as_user: int | None = NOBODY) -> None:
    """Leave the present namespaces of these kinds; `proc` is a descriptor of the machine's /proc.

    In a new user namespace this process is `as_user`; None keeps its number.

    Raises:
        OSError: the kernel refused.
    """
    uid, gid = os.getuid(), os.getgid()
    inner_uid, inner_gid = (uid, gid) if as_user is None else (as_user, as_user)
    check(LIBC.unshare(sum(FLAGS[layer] for layer in layers)), f"unshare({', '.join(layers)})")
    if USER not in layers:
        return
    # The maps can only be written by a dumpable process.
    LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inner_uid} {uid} 1"), ("gid_map", f"{inner_gid} {gid} 1")):
        descriptor = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def fork_into_pid_namespace(home: int) -> int:
    """Fork a process 1 of a new PID namespace; `home` is a descriptor of the caller's own.

    Raises:
        OSError: the kernel refused.
    """
    check(LIBC.unshare(FLAGS[PID]), f"unshare({PID})")
    child = -1
    try:
        child = os.fork()
    finally:
        if child != 0:
            check(LIBC.setns(home, FLAGS[PID]), "setns")
    return child


def become(uid: int) -> None:
    """Root alone: turn into another user. Death with the parent must be asked for again.

    Raises:
        OSError: the kernel refused.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
