"""Hardware counters of a worker on the CPU, read from outside it, with all its threads."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from ....memory.schema import CpuProfile, Metric
from .figures import combined, unavailable

# From linux/perf_event.h.
ATTRIBUTE_BYTES = 112
FLAGS_OFFSET = 40
DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
READ_TIMES = 1 | 2  # total time enabled, total time running
CLOSE_ON_EXEC = 8
ENABLE, DISABLE = 0x2400, 0x2401
HARDWARE, SOFTWARE = 0, 1
SYSCALL = {"x86_64": 298, "aarch64": 241}
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
UNITS = {"cycles": "cycle", "instructions": "instruction", "cache-misses": "miss", "task-clock": "ns"}
EVENTS: Mapping[str, tuple[int, int]] = {
    "cycles": (HARDWARE, 0), "instructions": (HARDWARE, 1), "cache-misses": (HARDWARE, 3), "task-clock": (SOFTWARE, 1),
}  # fmt: skip
COUNTING = "perf_event {}, user mode, all threads, scaled by time_enabled / time_running"


@dataclass
class CpuCounters:
    """Counters of one process; they run between `start` and `stop`, threads that it starts meanwhile included."""

    _opened: dict[str, list[int]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, pid: int) -> Self:
        """Counters of a process that runs; those that the kernel refuses are unavailable and say why."""
        counters = cls()
        threads = _threads(pid)
        for name, (kind, event) in EVENTS.items():
            try:
                counters._opened[name] = _open_all(kind, event, threads)
            except OSError as error:
                counters._refused[name] = why_refused(name, error.errno or 0, _paranoid())
        return counters

    def start(self) -> None:
        """Count from here on."""
        self._control(ENABLE)

    def stop(self, wall_ms: float) -> CpuProfile:
        """Count no more; `wall_ms` is the judge's own time between start and stop."""
        self._control(DISABLE)
        cycles, instructions = self._figure("cycles"), self._figure("instructions")
        return CpuProfile(
            wall_ms=Metric(kind="measured", value=wall_ms, unit="ms", source="the judge's clock"),
            cpu_ms=combined(
                "ms", COUNTING.format("task-clock"), (self._figure("task-clock"),), lambda value: value / 1e6
            ),
            elapsed_cycles=cycles,
            instructions=instructions,
            instructions_per_cycle=combined(
                "instruction/cycle", "instructions / cycles", (instructions, cycles), lambda done, took: done / took
            ),
            cache_misses=self._figure("cache-misses"),
        )

    def close(self) -> None:
        """Give the counters back."""
        for descriptors in self._opened.values():
            for descriptor in descriptors:
                os.close(descriptor)
        self._opened.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _control(self, request: int) -> None:
        for descriptors in self._opened.values():
            for descriptor in descriptors:
                fcntl.ioctl(descriptor, request, 0)

    def _figure(self, name: str) -> Metric:
        if name not in self._opened:
            return unavailable(UNITS[name], self._refused.get(name, "the counters are closed"))
        count = 0.0
        for descriptor in self._opened[name]:
            value, enabled, running = struct.unpack("QQQ", os.read(descriptor, 24))
            if value and not running:
                return unavailable(UNITS[name], f"{name} was never on a counter: other tools hold them all")
            count += value * enabled / running if running else 0
        return Metric(kind="measured", value=count, unit=UNITS[name], source=COUNTING.format(name))


def why_refused(name: str, error: int, paranoid: str) -> str:
    """Why the kernel opens no counter, with the cure."""
    if error in (errno.EACCES, errno.EPERM):
        return (
            f"the kernel refuses {name} (perf_event_paranoid is {paranoid}): set it to 1 "
            "(sysctl kernel.perf_event_paranoid=1) or give the judge CAP_PERFMON; a container's seccomp may refuse too"
        )
    if error in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return f"this processor shows no {name}, as in most virtual machines: run on the host, or give the VM its PMU"
    if error == errno.ESRCH:
        return f"the worker had ended before {name} could be opened"
    if error == errno.ENOSYS:
        return (
            f"this kernel has no perf_event_open, so no {name}: run on Linux for x86-64 or 64-bit Arm with perf events"
        )
    return f"the kernel opens no counter of {name}: {os.strerror(error)}"


def _threads(pid: int) -> list[int]:
    try:
        return sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return [pid]


def _paranoid() -> str:
    try:
        return PARANOID.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _open_all(kind: int, event: int, threads: list[int]) -> list[int]:
    """One counter a thread: inheriting covers the threads started later, not those that run already."""
    descriptors: list[int] = []
    for thread in threads:
        try:
            descriptors += [_open(kind, event, thread)]
        except OSError as error:
            # A thread may end while its siblings' counters are opened; the process is gone if all have.
            if error.errno == errno.ESRCH and (descriptors or thread != threads[-1]):
                continue
            for descriptor in descriptors:
                os.close(descriptor)
            raise
    return descriptors


def _open(kind: int, event: int, thread: int) -> int:
    number = SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    attribute = bytearray(ATTRIBUTE_BYTES)
    struct.pack_into("IIQQQQ", attribute, 0, kind, ATTRIBUTE_BYTES, event, 0, 0, READ_TIMES)
    struct.pack_into("Q", attribute, FLAGS_OFFSET, DISABLED | INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)
    buffer = (ctypes.c_char * ATTRIBUTE_BYTES).from_buffer(attribute)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(number, buffer, thread, -1, ctypes.c_int(-1), CLOSE_ON_EXEC)
    if descriptor < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return descriptor
