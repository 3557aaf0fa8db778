"""Landlock: a process gives up every path but those that it is granted."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from .access import Access
from .kernel import LIBC, check

SYS_CREATE_RULESET = 444
SYS_ADD_RULE = 445
SYS_RESTRICT_SELF = 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
# Rights that each ABI added: 1 the first thirteen, 2 REFER, 3 TRUNCATE, 5 IOCTL_DEV.
RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}


def restrict_paths(access: Access, scratch: str) -> None:
    """Leave this process and its children `access` and the whole of `scratch`; needs no_new_privs.

    Raises:
        OSError: the kernel refused.
    """
    abi: int = LIBC.syscall(SYS_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    if abi < 1:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock", "landlock")
    handled = RIGHTS_OF_ABI[max(version for version in RIGHTS_OF_ABI if version <= abi)]
    # From ABI 4 on: TCP bind and connect; from 6 on: abstract sockets and signals to the outside.
    attributes = struct.pack("=QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = check(LIBC.syscall(SYS_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
    for path in access.read_execute:
        _allow(ruleset, path, handled & (EXECUTE | READ_FILE | READ_DIR))
    for path in (*access.devices, scratch):
        _allow(ruleset, path, handled)
    check(LIBC.syscall(SYS_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # what it cannot reach needs no rule
        return
    try:
        if not Path(path).is_dir():
            rights &= FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        check(LIBC.syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0), f"landlock_add_rule({path})")
    finally:
        os.close(descriptor)
