"""Who may use this machine now: fair, crash-safe queues in one folder outside any home, shared by all users.

Each queue is a file whose bytes are tickets. Whoever comes locks the byte of its arrival time in the lane of its kind
and waits for a read lock over all earlier bytes that exclude it. The kernel does the waiting and, when a holder dies,
however it dies, the releasing. The file stays empty and is never read: nobody can mislead by what it holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from ...memory.errors import HarnessError
from ...memory.schema import Device

FOLDER = Path("/tmp/kernelguild-leases")
PROCESSORS = "processors"
"""The queue of the machine's cores; every GPU has one of its own, named by its instance."""

Use = Literal["shared", "exclusive"]
# A lane holds monotonic nanoseconds: 2**61 of them are 73 years of uptime.
LANE_START = {"shared": 0, "exclusive": 1 << 61}
FLOCK = "hhqqi"


@contextmanager
def working(device: Device) -> Iterator[None]:
    """Verify, or compute in the judge: beside other such work, never beside a timing on this device or on the cores.

    Raises:
        HarnessError: the leases' folder or files are not what they should be.
    """
    with _leases([(name, "shared") for name in _queues(device)]):
        yield


@contextmanager
def compiling(device: Device) -> Iterator[None]:
    """Compile: where compilers have cores of their own, beside a timing too.

    A ModelNew may compile for a minute; a timing that waited for it would hold up everybody behind it.

    Raises:
        HarnessError: the leases' folder or files are not what they should be.
    """
    if len(os.sched_getaffinity(0)) > 1:
        yield
        return
    with working(device):
        yield


@contextmanager
def timing(device: Device) -> Iterator[None]:
    """Time: nobody else times or works on the device; a GPU's timing lets compilers run on the other cores.

    Leases do not nest: who holds `working` and asks for `timing` waits for itself for ever.

    Raises:
        HarnessError: the leases' folder or files are not what they should be.
    """
    first, *rest = _queues(device)
    with _leases([(first, "exclusive"), *((name, "shared") for name in rest)]):
        yield


def _queues(device: Device) -> list[str]:
    """The device first: all take their leases in this order, so that no two wait for each other."""
    return [PROCESSORS] if device.kind == "cpu" else [device.instance, PROCESSORS]


@contextmanager
def _leases(wanted: list[tuple[str, Use]]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, use in wanted:
            stack.enter_context(lease(name, use))
        yield


@contextmanager
def lease(queue: str, use: Use) -> Iterator[None]:
    """Queue up, first come first served; shared leases of one stretch of the queue are held together.

    Raises:
        HarnessError: the leases' folder or the queue's file is not what it should be.
    """
    descriptor = _open(queue)
    try:
        ticket = _draw(descriptor, use)
        for lane in ("exclusive",) if use == "shared" else ("shared", "exclusive"):
            start = LANE_START[lane]
            _lock(descriptor, fcntl.F_RDLCK, start, ticket, wait=True)
            _lock(descriptor, fcntl.F_UNLCK, start, ticket, wait=False)
        yield
    finally:
        os.close(descriptor)


def _draw(descriptor: int, use: Use) -> int:
    """Take a ticket and lock it. One at a time, or a later ticket could be served before an earlier one shows."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        while True:
            ticket = time.monotonic_ns()
            try:
                _lock(descriptor, fcntl.F_WRLCK, LANE_START[use] + ticket, 1, wait=False)
                return ticket
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock(descriptor: int, kind: int, start: int, length: int, *, wait: bool) -> None:
    """An open-file-description lock: it dies with the descriptor, not with any other one of the process."""
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    fcntl.fcntl(descriptor, command, struct.pack(FLOCK, kind, os.SEEK_SET, start, length, 0))


def machine_folder() -> Path:
    """The folder that every user of the machine shares; made on the first use.

    Raises:
        HarnessError: something else has its name.
    """
    with contextlib.suppress(FileExistsError):
        FOLDER.mkdir()
        # Every user of the machine takes part; the sticky bit keeps them off each other's files.
        FOLDER.chmod(0o1777)
    if not stat.S_ISDIR(FOLDER.lstat().st_mode):
        raise HarnessError(f"{FOLDER} is not a folder; remove it")
    return FOLDER


def safe_name(instance: str) -> str:
    """A device instance as part of a file name."""
    return "".join(character if character.isalnum() else "-" for character in instance)


def _open(queue: str) -> int:
    try:
        path = machine_folder() / f"{safe_name(queue)}.queue"
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            # Without O_CREAT first: a sticky folder refuses O_CREAT on somebody else's file.
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            descriptor = os.open(path, flags | os.O_CREAT, 0o666)
            # A write lock needs the right to write, whoever came first; the umask may have taken it.
            with contextlib.suppress(PermissionError):
                os.fchmod(descriptor, 0o666)
    except OSError as error:
        raise HarnessError(f"the machine's leases cannot be opened: {error}; remove what is there") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise HarnessError(f"{path} is not a file; remove it")
    return descriptor
