"""Confinement of compilers and candidates: each layer that the host grants, and which those are.

Everything here runs in a freshly forked, single-threaded child, through system calls alone.
"""

from __future__ import annotations

import os
import resource
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass

from . import mounts, namespaces
from .access import (
    IPC,
    LANDLOCK,
    MOUNT,
    NETWORK,
    NO_CAPABILITIES,
    NO_NEW_PRIVS,
    PID,
    RLIMITS,
    SCRATCH_BYTES,
    SECCOMP,
    USER,
    Access,
    Limits,
)
from .kernel import LIBC, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, check
from .landlock import restrict_paths
from .memory_watch import address_space_bytes
from .syscalls import install_filter

LAST_CAPABILITY = 63
CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True)
class Confinement:
    """All that a worker is held to."""

    access: Access
    limits: Limits
    scratch: str
    """Its working folder, the only place it may write."""
    layers: tuple[str, ...]
    """Those that the host grants."""
    uid: int | None
    """The user it becomes; None keeps the judge's."""


def found(layers: Collection[str]) -> None:
    """In a zygote, once: the right to give each worker a PID namespace.

    Root has it. Any other user has it only inside of a user and a PID namespace of its own; the caller goes on as a
    child there, and its parent waits for it.

    Raises:
        OSError: the kernel refused.
    """
    if namespaces.other_user() is not None or not {USER, PID} <= set(layers):
        return
    parent = os.pidfd_open(os.getpid())
    with namespaces.machine_proc() as proc:
        namespaces.unshare([USER, PID], proc, as_user=None)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    namespaces.die_with_parent(parent)
    os.close(parent)


def fork_first(layers: Collection[str]) -> int:
    """Fork a worker's process 1, in a PID namespace of its own where the host grants that.

    Raises:
        OSError: the kernel refused.
    """
    if PID not in layers:
        return os.fork()
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return namespaces.fork_into_pid_namespace(home)
    finally:
        os.close(home)


def settle(confinement: Confinement, proc: int) -> None:
    """In process 1: no network and no machine, a root of its own, and no user who means anything outside.

    Root needs its rights for the mounts and for becoming another user: its user namespace comes after those.

    Raises:
        OSError: the kernel refused.
    """
    kinds = [NETWORK, IPC, MOUNT] if confinement.uid is not None else [USER, NETWORK, IPC, MOUNT]
    _unshare(kinds, confinement.layers, proc)
    os.umask(0o022)
    if MOUNT in confinement.layers:
        scratch_bytes = max(SCRATCH_BYTES, confinement.limits.file_bytes)
        mounts.enter_root(confinement.access, confinement.scratch, scratch_bytes, confinement.uid)
    if confinement.uid is not None:
        namespaces.become(confinement.uid)
        _unshare([USER], confinement.layers, proc)


def confine(confinement: Confinement, proc: int) -> None:
    """In the worker: give up everything but access and limits; cannot be undone.

    Raises:
        OSError: the kernel refused a layer.
    """
    for layer, apply in _steps(confinement, proc):
        if layer in confinement.layers:
            apply()


def _steps(confinement: Confinement, proc: int) -> list[tuple[str, Callable[[], object]]]:
    # A filter and a ruleset can be put on by who has no rights only after no_new_privs.
    return [
        (RLIMITS, lambda: _set_limits(confinement, proc)),
        (NO_CAPABILITIES, _drop_capabilities),
        (NO_NEW_PRIVS, lambda: check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")),
        (LANDLOCK, lambda: restrict_paths(confinement.access, confinement.scratch)),
        (SECCOMP, lambda: _filter(confinement)),
    ]


def _filter(confinement: Confinement) -> None:
    install_filter(may_fork=confinement.limits.may_fork, unix_sockets=confinement.access.gpu)


def _unshare(kinds: list[str], layers: Collection[str], proc: int) -> None:
    granted = [kind for kind in kinds if kind in layers]
    if granted:
        namespaces.unshare(granted, proc)


def _set_limits(confinement: Confinement, proc: int) -> None:
    limits = confinement.limits
    values = {
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    if not limits.reserves:
        values[resource.RLIMIT_AS] = address_space_bytes(proc) + limits.memory_bytes
    if USER in confinement.layers:
        # Elsewhere the count would be that of all the user's processes. Process 1 counts too.
        values[resource.RLIMIT_NPROC] = limits.tasks + 1
    for kind, value in values.items():
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    for capability in range(LAST_CAPABILITY + 1):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    check(LIBC.capset(header, bytes(24)), "capset")
