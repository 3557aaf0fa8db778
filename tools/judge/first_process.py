"""What process 1 of a worker's namespaces does: wait for the worker, watch its memory, hand over its product."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
from pathlib import Path

from .memory_watch import WATCH_INTERVAL_S, MemoryWatch
from .worker_spec import WorkerEnd, WorkerSpec


def watch(spec: WorkerSpec, proc: int) -> MemoryWatch | None:
    """What watches the worker's memory, where its limits need that; before the worker is forked."""
    limits = spec.confinement.limits
    return MemoryWatch(proc, limits.memory_bytes, spec.shared_bytes) if limits.sampled else None


def wait(worker: int, memory: MemoryWatch | None) -> WorkerEnd:
    """Reap until the worker has ended; kill everything when it holds more memory than it may."""
    if memory is not None:
        _watch(worker, memory)
    else:
        # Who waits in wait() wakes up whenever the judge stops or continues the worker, in the midst of a call.
        select.select([os.pidfd_open(worker)], [], [])
    while True:
        pid, code, usage = os.wait3(0)
        if pid == worker:
            break
    return WorkerEnd(
        exit_code=os.WEXITSTATUS(code) if os.WIFEXITED(code) else None,
        signal=os.WTERMSIG(code) if os.WIFSIGNALED(code) else None,
        max_rss_bytes=usage.ru_maxrss * 1024,
    )


def hand_over(product: Path, target: int, limit_bytes: int) -> None:
    """Copy what the worker made; a link, a pipe or a monster that it left instead is no product.

    Raises:
        OSError: the judge's place for it takes no more.
    """
    try:
        descriptor = os.open(product, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        state = os.fstat(descriptor)
        if stat.S_ISREG(state.st_mode) and state.st_size <= limit_bytes:
            left = state.st_size
            while left > 0 and (sent := os.sendfile(target, descriptor, None, left)):
                left -= sent
    finally:
        os.close(descriptor)


def _watch(worker: int, memory: MemoryWatch) -> None:
    ended = os.pidfd_open(worker)
    while not select.select([ended], [], [], WATCH_INTERVAL_S)[0]:
        if memory.is_exceeded():
            _kill_all(worker)
            return


def _kill_all(worker: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        # Minus one is everything in the namespace; outside of one it would be everything that this user has.
        os.kill(-1 if os.getpid() == 1 else worker, signal.SIGKILL)
