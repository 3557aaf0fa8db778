"""A seccomp filter: system calls that reach outside the other layers, or that only a cheat needs, fail with EPERM.

Landlock covers neither metadata nor Unix sockets, and a pinned worker could unpin itself. Names and numbers are those
of the kernel's tables for the two architectures that are supported.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

from .kernel import LIBC, PR_SET_SECCOMP

SOCKET_UNIX = 1
CLONE_THREAD = 0x10000
NEW_NAMESPACES = 0x7E020000
"""mount, cgroup, UTS, IPC, user, PID, network"""
SECCOMP_MODE_FILTER = 2
X32_BIT = 0x40000000

LOAD_WORD, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW = 0x7FFF0000
KILL = 0x80000000
FAIL = 0x00050000
REFUSE = FAIL | errno.EPERM
OFFSET_NUMBER, OFFSET_ARCHITECTURE, OFFSET_FIRST_ARGUMENT = 0, 4, 16

# name: (x86-64, arm64); None where the architecture has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # metadata of files outside, which Landlock does not cover
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    # scheduling: the judge chooses the core
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "setpriority": (141, 140), "ioprio_set": (251, 30),
    # other processes, kernel interfaces with a history, and ways around the filter
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429),
    "fsopen": (430, 430), "open_tree": (428, 428), "mount_setattr": (442, 442), "pivot_root": (155, 41),
    "chroot": (161, 51), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "quotactl": (179, 60), "syslog": (103, 116), "personality": (135, 92), "seccomp": (317, 277),
    # memory that belongs to no process, so that no limit counts it
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "mq_open": (240, 180),
}  # fmt: skip
FORKS = ((57, None), (58, None))
"""fork and vfork, where clone is not the only way."""
CLONE = (56, 220)
CLONE3 = (435, 435)
SOCKET = (41, 198)
SOCKETPAIR = (53, 199)
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


@dataclass(frozen=True)
class _Step:
    code: int
    jump_true: int
    jump_false: int
    value: int

    def pack(self) -> bytes:
        return struct.pack("=HBBI", self.code, self.jump_true, self.jump_false, self.value)


def install_filter(*, may_fork: bool, unix_sockets: bool = False) -> None:
    """Put the filter on this process and its children; needs no_new_privs.

    Without `may_fork` it can start threads, and no process: what a process limit counts is the task's threads.
    `unix_sockets` belong into a root and a network of their own, where nobody listens.

    Raises:
        OSError: the kernel refused, or the architecture is unknown.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter for {machine}", "seccomp")
    steps = build(*ARCHITECTURES[machine], may_fork=may_fork, unix_sockets=unix_sockets)
    code = b"".join(step.pack() for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(steps), ctypes.addressof(buffer))
    if LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refused the filter", "seccomp")


def build(column: int, architecture: int, *, may_fork: bool, unix_sockets: bool) -> list[_Step]:
    """The filter's program: a chain of comparisons, each of which ends in a return or falls through."""
    refused = [numbers[column] for numbers in REFUSED.values()]
    steps = [
        _Step(LOAD_WORD, 0, 0, OFFSET_ARCHITECTURE),
        _Step(JUMP_EQUAL, 1, 0, architecture),
        _Step(RETURN, 0, 0, KILL),
        _Step(LOAD_WORD, 0, 0, OFFSET_NUMBER),
        # x32 numbers are a second name for every call.
        _Step(JUMP_GREATER_EQUAL, 0, 1, X32_BIT),
        _Step(RETURN, 0, 0, REFUSE),
    ]
    for number in (*refused, SOCKETPAIR[column]):
        if number is not None:
            steps += [_Step(JUMP_EQUAL, 0, 1, number), _Step(RETURN, 0, 0, REFUSE)]
    return [
        *steps,
        *_no_namespaces(column),
        *([] if may_fork else _threads_only(column)),
        *([] if unix_sockets else _no_unix_sockets(column)),
        _Step(RETURN, 0, 0, ALLOW),
    ]


def _no_namespaces(column: int) -> list[_Step]:
    """A namespace of one's own brings back rights over it. A filter cannot see clone3's flags; libraries then clone."""
    return [
        _Step(JUMP_EQUAL, 0, 1, CLONE3[column]),
        _Step(RETURN, 0, 0, FAIL | errno.ENOSYS),
        _Step(JUMP_EQUAL, 0, 4, CLONE[column]),
        _Step(LOAD_WORD, 0, 0, OFFSET_FIRST_ARGUMENT),
        _Step(JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES),
        _Step(RETURN, 0, 0, REFUSE),
        _Step(LOAD_WORD, 0, 0, OFFSET_NUMBER),
    ]


def _no_unix_sockets(column: int) -> list[_Step]:
    return [
        _Step(JUMP_EQUAL, 0, 3, SOCKET[column]),
        _Step(LOAD_WORD, 0, 0, OFFSET_FIRST_ARGUMENT),
        _Step(JUMP_EQUAL, 0, 1, SOCKET_UNIX),
        _Step(RETURN, 0, 0, REFUSE),
    ]


def _threads_only(column: int) -> list[_Step]:
    again = FAIL | errno.EAGAIN
    steps = []
    for fork in FORKS:
        number = fork[column]
        if number is not None:
            steps += [_Step(JUMP_EQUAL, 0, 1, number), _Step(RETURN, 0, 0, again)]
    return [
        *steps,
        _Step(JUMP_EQUAL, 0, 4, CLONE[column]),
        _Step(LOAD_WORD, 0, 0, OFFSET_FIRST_ARGUMENT),
        _Step(JUMP_ANY_BIT, 1, 0, CLONE_THREAD),
        _Step(RETURN, 0, 0, again),
        _Step(RETURN, 0, 0, ALLOW),
    ]
