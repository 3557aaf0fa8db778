"""A root of its own for a worker: what it may read, read-only, and an empty scratch folder with a quota.

Runs in process 1 of the worker's namespaces. Nothing that is written there reaches a disk or outlives the worker.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from .access import SCRATCH_FILES, Access
from .kernel import LIBC, check

MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID = 1, 2
SHARED_MEMORY = "/dev/shm"
PROC = "/proc"
ROOT_QUOTA = "size=1m,nr_inodes=4k,mode=0755"


def enter_root(access: Access, scratch: str, scratch_bytes: int, uid: int | None) -> None:
    """Make a root of `access` and `scratch` and live in it; what the judge laid into `scratch` lies there again.

    Raises:
        OSError: the kernel refused.
    """
    files = dict(_regular_files(scratch))
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    # Any folder would do to mount the root on; nobody else looks into this one.
    _mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV, ROOT_QUOTA)
    devices = [path for path in _outermost(access.devices) if path not in (SHARED_MEMORY, PROC)]
    for path in _outermost((*access.read_execute, *devices)):
        if _bind(path, scratch + path) and path not in devices:
            _make_read_only(scratch + path, AT_RECURSIVE)
    inner = Path(scratch + scratch)
    for folder in (inner, Path(scratch + SHARED_MEMORY)):
        folder.mkdir(parents=True, exist_ok=True)
    _make_read_only(scratch)
    if access.gpu:
        # On top of the few files of the machine's that others get: the driver looks itself up by its own number.
        _mount("proc", scratch + PROC, "proc", MS_NOSUID | MS_NODEV)
    owner = "" if uid is None else f",uid={uid},gid={uid}"
    quota = f"size={scratch_bytes},nr_inodes={SCRATCH_FILES},mode=0700{owner}"
    _mount("tmpfs", str(inner), "tmpfs", MS_NOSUID | MS_NODEV, quota)
    if not scratch.startswith(f"{SHARED_MEMORY}/"):
        _mount(str(inner), scratch + SHARED_MEMORY, None, MS_BIND)
    for name, data in files.items():
        (inner / name).write_bytes(data)
    _pivot(scratch)


def _regular_files(folder: str) -> Iterator[tuple[str, bytes]]:
    for entry in os.scandir(folder):
        if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            yield entry.name, Path(entry.path).read_bytes()


def _outermost(paths: tuple[str, ...]) -> list[str]:
    """The paths without those that lie below another one of them."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept


def _bind(source: str, target: str) -> bool:
    """Whether there is anything to show."""
    try:
        is_folder = stat.S_ISDIR(Path(source).stat().st_mode)
    except (FileNotFoundError, PermissionError):  # what the judge cannot reach is not there for the worker either
        return False
    place = Path(target)
    if is_folder:
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    _mount(source, target, None, MS_BIND | MS_REC)
    return True


def _make_read_only(path: str, recursive: int = 0) -> None:
    attributes = struct.pack("=QQQQ", ATTR_RDONLY | ATTR_NOSUID, 0, 0, 0)
    result = LIBC.syscall(
        SYS_MOUNT_SETATTR, AT_FDCWD, path.encode(), recursive, attributes, ctypes.c_size_t(len(attributes))
    )
    check(result, "mount_setattr")


def _pivot(root: str) -> None:
    os.chdir(root)
    check(LIBC.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    # The old root now lies on top of the new one.
    check(LIBC.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), options.encode())
    check(LIBC.mount(*arguments), f"mount({target})")
