"""Confinement of compilers and candidates: namespaces, Landlock, seccomp, resource limits, no capabilities.

Everything here runs in a freshly forked, single-threaded child, through system calls alone.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from dataclasses import dataclass
from pathlib import Path

from ...memory.schema import Isolation
from .syscalls import install_filter

_LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
LAST_CAPABILITY = 63
CAPABILITY_VERSION_3 = 0x20080522

NAMESPACES = {
    "user_namespace": 0x10000000,
    "pid_namespace": 0x20000000,
    "network_namespace": 0x40000000,
    "ipc_namespace": 0x08000000,
}

SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_ADD_RULE = 445
SYS_LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
ACCESS_EXECUTE, ACCESS_WRITE_FILE, ACCESS_READ_FILE, ACCESS_READ_DIR = 1, 2, 4, 8
FILE_ACCESS = ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | 1 << 14 | 1 << 15
# Rights that each Landlock ABI added: 1 the first thirteen, 2 REFER, 3 TRUNCATE, 5 IOCTL_DEV.
RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
LAYERS = (*NAMESPACES, "landlock", "seccomp", "no_new_privs", "no_capabilities", "rlimits")


@dataclass(frozen=True)
class Access:
    """The paths that a confined process may use; everything else is denied."""

    read_execute: tuple[str, ...]
    read_write: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """What a confined process may use."""

    memory_bytes: int | None
    """Address space on top of what the process has at the start; None where CUDA reserves it all."""
    file_bytes: int
    """Size of any file it writes, its output included."""
    processes: int
    cpu_s: int
    """A backstop behind the judge's own clock."""


def die_with_parent() -> None:
    """Be killed when the parent dies, and be closed to debuggers."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def become(uid: int) -> None:
    """Root alone: turn into another user, whom the process limit binds (it does not bind root).

    Raises:
        OSError: the kernel refused.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # A change of user clears what was set before.
    die_with_parent()


def enter_namespaces() -> None:
    """Leave the machine's namespaces; the next child is process 1 of its own.

    Raises:
        OSError: the kernel refused.
    """
    uid, gid = os.getuid(), os.getgid()
    _check(_LIBC.unshare(sum(NAMESPACES.values())), "unshare")
    # The maps can only be written by a dumpable process.
    _LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"65534 {uid} 1")
    _write("/proc/self/gid_map", f"65534 {gid} 1")
    _LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine(access: Access, limits: Limits) -> None:
    """Give up everything but `access` and `limits`; cannot be undone.

    Raises:
        OSError: the kernel refused a layer.
    """
    _set_limits(limits)
    _drop_capabilities()
    _check(_LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")
    _restrict_paths(access)
    install_filter(_LIBC)


def landlock_abi() -> int:
    """The kernel's Landlock version; 0 where it has none."""
    version: int = _LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    return max(0, version)


def probe() -> Isolation:
    """Try every layer in a throw-away child and say which of them this host grants."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        _probe_child(sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    if text == "ok":
        return Isolation(confined=True, layers=LAYERS)
    return Isolation(confined=False, layers=(), missing=(text or "the probe died",))


def _probe_child(sender: int) -> None:
    try:
        enter_namespaces()
        confine(Access(("/usr",), ()), Limits(1 << 30, 1 << 20, 8, 5))
        message = "ok"
    except OSError as error:
        message = f"{error.filename or 'system call'}: {error.strerror}"
    finally:
        os.write(sender, message.encode())
        os._exit(0)


def _set_limits(limits: Limits) -> None:
    used_bytes = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    total = resource.RLIM_INFINITY if limits.memory_bytes is None else used_bytes + limits.memory_bytes
    for kind, value in (
        (resource.RLIMIT_AS, total),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    for capability in range(LAST_CAPABILITY + 1):
        if _LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _check(_LIBC.capset(header, bytes(24)), "capset")


def _restrict_paths(access: Access) -> None:
    abi = landlock_abi()
    if abi < 1:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock", "landlock")
    handled = RIGHTS_OF_ABI[max(version for version in RIGHTS_OF_ABI if version <= abi)]
    # From ABI 4 on: TCP bind and connect; from 6 on: abstract sockets and signals to the outside.
    attributes = struct.pack("=QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _LIBC.syscall(SYS_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    _check(ruleset, "landlock_create_ruleset")
    for path in access.read_execute:
        _allow(ruleset, path, ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIR)
    for path in access.read_write:
        _allow(ruleset, path, handled)
    _check(_LIBC.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # what it cannot reach needs no rule
        return
    try:
        if not Path(path).is_dir():
            rights &= FILE_ACCESS
        handled = RIGHTS_OF_ABI[max(version for version in RIGHTS_OF_ABI if version <= landlock_abi())]
        rule = struct.pack("=Qi", rights & handled, descriptor)
        _check(
            _LIBC.syscall(SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0),
            f"landlock_add_rule({path})",
        )
    finally:
        os.close(descriptor)


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _check(result: int, what: str) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)
