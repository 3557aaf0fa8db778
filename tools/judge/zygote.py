"""The fork server: imports once, then forks a confined worker per request. It never computes.

Each worker is three processes: a warden outside, process 1 of the new namespaces, and the worker itself. When the
worker ends, process 1 reports how, and the kernel kills whatever the worker left behind.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import NoReturn

from . import sandbox
from .programs import serving
from .worker_spec import CONFINED, WorkerEnd, WorkerSpec

MAX_REQUEST_BYTES = 64 * 1024
# command pipe, reply pipe, shared memory, output file, status pipe
DESCRIPTORS = 5
PRELOADED: dict[str, tuple[str, ...]] = {
    "native": ("cpp", "empty"),
    "torch": ("pytorch",),
    "cuda": ("launcher", "nvrtc"),
}
"""The programs that a zygote imports for all its workers, who may be unable to read the interpreter; none computes."""
MAX_DESCRIPTORS = 4096


def serve(control: socket.socket) -> None:
    """Answer each request with the warden's pidfd, until the judge closes the socket."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, DESCRIPTORS)
        if not data:
            return
        _reap()
        warden = os.fork()
        if warden == 0:
            control.close()
            _guard(partial(_warden, WorkerSpec.loads(data), *descriptors))
        pidfd = os.pidfd_open(warden)
        socket.send_fds(control, [str(warden).encode()], [pidfd])
        for descriptor in (*descriptors, pidfd):
            os.close(descriptor)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _guard(body: Callable[[], None]) -> NoReturn:
    """Run the child's part; a forked child must never return into the parent's loop."""
    try:
        body()
    except BaseException as error:  # noqa: BLE001  whatever it was, the only thing left to do is to end
        os.write(2, f"{error}\n".encode())
        os._exit(1)
    os._exit(0)


def _warden(spec: WorkerSpec, command: int, reply: int, shared: int, output: int, status: int) -> None:
    sandbox.die_with_parent()
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    if spec.uid is not None:
        sandbox.become(spec.uid)
    sandbox.enter_namespaces()
    first = os.fork()
    if first == 0:
        _guard(lambda: _first_process(spec, command, reply, shared, status))
    # Process 1 can be waited for only once everything in its namespace is gone: that is what the judge waits for.
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
    for descriptor in (command, reply, shared, output, status):
        os.close(descriptor)
    os.waitpid(first, 0)


def _first_process(spec: WorkerSpec, command: int, reply: int, shared: int, status: int) -> None:
    sandbox.die_with_parent()
    # Without handlers, nothing that the worker sends can end process 1.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    worker = os.fork()
    if worker == 0:
        os.close(status)
        _guard(lambda: _worker(spec, command, reply, shared))
    for descriptor in (command, reply, shared):
        os.close(descriptor)
    while True:
        pid, code, usage = os.wait3(0)
        if pid == worker:
            break
    ended = WorkerEnd(
        exit_code=os.WEXITSTATUS(code) if os.WIFEXITED(code) else None,
        signal=os.WTERMSIG(code) if os.WIFSIGNALED(code) else None,
        max_rss_bytes=usage.ru_maxrss * 1024,
    )
    os.write(status, ended.dumps())


def _worker(spec: WorkerSpec, command: int, reply: int, shared: int) -> None:
    sandbox.die_with_parent()
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    _keep_only((0, 1, 2, command, reply, shared))
    # Python ignores these two; a candidate that hits a limit shall die of it.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.chdir(spec.scratch)
    os.umask(0o077)
    os.environ.update(OMP_NUM_THREADS=str(spec.threads))
    os.environ.update(HOME=spec.scratch, TMPDIR=spec.scratch, TORCH_EXTENSIONS_DIR=f"{spec.scratch}/torch_extensions")
    if spec.cpu is not None:
        os.sched_setaffinity(0, {spec.cpu})
    sandbox.confine(spec.access, spec.limits)
    os.write(reply, CONFINED)
    serving.run(spec, command, reply, shared)


def _keep_only(descriptors: tuple[int, ...]) -> None:
    previous = -1
    for descriptor in (*sorted(descriptors), MAX_DESCRIPTORS):
        # An empty range must not reach the system call: its end would wrap around and close everything.
        if descriptor > previous + 1:
            os.closerange(previous + 1, descriptor)
        previous = descriptor


def main() -> None:
    """Entry point of the zygote's process: `zygote FD PRELOAD`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    sandbox.die_with_parent()
    for name in PRELOADED[sys.argv[2]]:
        import_module(f".programs.{name}", __package__)

    gc.collect()
    gc.freeze()
    control.send(b"ready")
    serve(control)


if __name__ == "__main__":
    main()
