"""What a confined process may reach and use, and the layers that hold it to that."""

from __future__ import annotations

from dataclasses import dataclass

USER, PID, NETWORK, IPC, MOUNT = (
    "user_namespace", "pid_namespace", "network_namespace", "ipc_namespace", "mount_namespace",
)  # fmt: skip
LANDLOCK, SECCOMP, NO_NEW_PRIVS, NO_CAPABILITIES, RLIMITS = (
    "landlock", "seccomp", "no_new_privs", "no_capabilities", "rlimits",
)  # fmt: skip
# Each may need those before it.
LAYERS = (USER, PID, NETWORK, IPC, MOUNT, NO_NEW_PRIVS, LANDLOCK, SECCOMP, NO_CAPABILITIES, RLIMITS)
OPTIONAL_LAYERS = frozenset({MOUNT})
"""Without it the other layers still hold; what is lost is the scratch folder's quota."""

SCRATCH_BYTES = 256 << 20
SCRATCH_FILES = 16384


@dataclass(frozen=True)
class Access:
    """The paths that a confined process may use beside its scratch folder; everything else is denied."""

    read_execute: tuple[str, ...]
    devices: tuple[str, ...]
    """Read, written and controlled."""
    gpu: bool = False
    """Whether the CUDA driver runs here: it wants a /proc of its own namespace, shared memory, and Unix sockets, with
    which it looks for services that are not there."""


@dataclass(frozen=True)
class Limits:
    """What a confined process may use."""

    memory_bytes: int
    """On top of what the process has at the start; of all its processes together."""
    file_bytes: int
    """Size of any file it writes, its output included."""
    tasks: int
    """Threads, and processes where it may have any, its first one included."""
    cpu_s: int
    """A backstop behind the judge's own clock."""
    may_fork: bool = False
    """Whether it may start processes; a compiler does."""
    reserves: bool = False
    """Whether it reserves address space that it does not use, as CUDA does."""

    @property
    def sampled(self) -> bool:
        """Whether process 1 must watch the memory: a limit on one address space does not say enough."""
        return self.may_fork or self.reserves
