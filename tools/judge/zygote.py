"""The fork server: imports once, then forks a confined worker per request. It never computes.

Each worker is two processes: process 1 of new namespaces, and the worker itself. When the worker ends, process 1
reports how, and the kernel kills whatever the worker left behind.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from . import cores, first_process, sandbox
from .namespaces import be_dumpable, die_with_parent, machine_proc
from .programs import serving
from .worker_spec import COMPILERS, CONFINED, WorkerEnd, WorkerSpec

MAX_REQUEST_BYTES = 64 * 1024
PRELOADED: dict[str, tuple[str, ...]] = {
    "native": ("cpp", "empty"),
    "torch": ("pytorch", "extension"),
    "cuda": ("launcher", "nvrtc"),
    "triton": ("triton_compiler",),
    "interpreter": ("interpreter",),
}
"""The programs that a zygote imports for all its workers, who may be unable to read the interpreter; none computes."""
MAX_DESCRIPTORS = 4096
MOST_EXPENDABLE = "1000"


@dataclass(frozen=True)
class Channels:
    """The descriptors that come with a request, in this order."""

    command: int
    reply: int
    shared: int
    output: int
    status: int
    product: int = -1
    """Where process 1 puts the worker's product; only where one is asked for."""


def serve(control: socket.socket) -> None:
    """Answer each request with the pidfd of a new process 1, until the judge closes the socket.

    Process 1 can be waited for only once everything in its namespace is gone: that is what the judge waits for.
    """
    zygote = os.pidfd_open(os.getpid())
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, len(Channels.__dataclass_fields__))
        if not data:
            return
        _reap()
        spec = WorkerSpec.loads(data)
        try:
            first = sandbox.fork_first(spec.confinement.layers)
            if first == 0:
                control.close()
                _guard(partial(_first_process, spec, Channels(*descriptors), zygote))
            pidfd = os.pidfd_open(first)
            socket.send_fds(control, [b"forked"], [pidfd])
            os.close(pidfd)
        except OSError as error:
            control.send(_reason(error))
        for descriptor in descriptors:
            os.close(descriptor)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _guard(body: Callable[[], None]) -> NoReturn:
    """Run the child's part; a forked child must never return into the parent's loop."""
    try:
        body()
    except OSError as error:
        os.write(2, _reason(error))
        os._exit(1)
    except BaseException as error:  # noqa: BLE001  whatever it was, the only thing left to do is to end
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def _reason(error: OSError) -> bytes:
    return f"{error.filename or 'system call'}: {error.strerror}\n".encode()


def _first_process(spec: WorkerSpec, channels: Channels, zygote: int) -> None:
    die_with_parent(zygote)
    for descriptor in (1, 2):
        os.dup2(channels.output, descriptor)
    with machine_proc() as proc:
        sandbox.settle(spec.confinement, proc)
        # Becoming another user undid it.
        die_with_parent(zygote)
        ended = _run(spec, channels, proc)
    os.write(channels.status, ended.dumps())


def _run(spec: WorkerSpec, channels: Channels, proc: int) -> WorkerEnd:
    watch = first_process.watch(spec, proc)
    worker = os.fork()
    if worker == 0:
        _guard(partial(_worker, spec, channels, proc))
    for descriptor in (channels.command, channels.reply, channels.shared):
        os.close(descriptor)
    ended = first_process.wait(worker, watch)
    if spec.product and ended.exit_code == 0:
        try:
            path = Path(spec.confinement.scratch, spec.product)
            first_process.hand_over(path, channels.product, spec.confinement.limits.file_bytes)
        except OSError as error:
            ended = replace(ended, judge_failure=f"{spec.product} cannot be kept: {error.strerror}")
    return ended


def _worker(spec: WorkerSpec, channels: Channels, proc: int) -> None:
    die_with_parent()
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    _keep_only((0, 1, 2, channels.command, channels.reply, channels.shared, proc))
    # Python ignores these two; a candidate that hits a limit shall die of it.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    scratch = spec.confinement.scratch
    os.chdir(scratch)
    os.umask(0o077)
    os.environ.update(OMP_NUM_THREADS=str(spec.threads))
    os.environ.update(HOME=scratch, TMPDIR=scratch, TORCH_EXTENSIONS_DIR=f"{scratch}/torch_extensions")
    if spec.cpu is not None:
        os.sched_setaffinity(0, {spec.cpu})
    elif spec.kind in COMPILERS:
        # A compiler does not wait for timings, nor they for it.
        cores.keep_aside()
    sandbox.confine(spec.confinement, proc)
    if spec.gpu:
        be_dumpable()
    os.close(proc)
    os.write(channels.reply, CONFINED)
    serving.run(spec, channels.command, channels.reply, channels.shared)


def _keep_only(descriptors: tuple[int, ...]) -> None:
    previous = -1
    for descriptor in (*sorted(descriptors), MAX_DESCRIPTORS):
        # An empty range must not reach the system call: its end would wrap around and close everything.
        if descriptor > previous + 1:
            os.closerange(previous + 1, descriptor)
        previous = descriptor


def main() -> None:
    """Entry point of the zygote's process: `zygote FD PRELOAD LAYER,LAYER`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    die_with_parent()
    # When the machine runs out of memory, a worker goes, and not what the user runs.
    Path("/proc/self/oom_score_adj").write_text(MOST_EXPENDABLE, encoding="utf-8")
    sandbox.found(sys.argv[3].split(","))
    for name in PRELOADED[sys.argv[2]]:
        import_module(f".programs.{name}", __package__)

    gc.collect()
    gc.freeze()
    control.send(b"ready")
    serve(control)


if __name__ == "__main__":
    main()
