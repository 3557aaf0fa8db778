"""The judge's side of zygotes and workers: start, configure, call, and always an end within the limits."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from ...memory.errors import HarnessError
from .worker_spec import CONFIGURE, CONFINED, DELIVERED, END, GO, READY, TIMES, WorkerEnd, WorkerSpec

ZYGOTE = (sys.executable, "-P", "-m", "kernelguild.tools.judge.zygote")
ZYGOTE_START_TIMEOUT_S = 120
CONFINEMENT_TIMEOUT_S = 30
END_TIMEOUT_S = 10
OUTPUT_TAIL_BYTES = 4000


class WorkerTimeout(Exception):
    """The worker did not answer in time."""


class WorkerEnded(Exception):
    """The worker ended instead of answering."""


class Worker:
    """One confined process. It is never used again after it ran candidate code for one purpose."""

    def __init__(
        self,
        pidfd: int,
        command: int,
        reply: int,
        status: int,
        output: BinaryIO,
        zygote_lives: Callable[[], bool],
        *,
        timed: bool = False,
        channel: socket.socket | None = None,
    ) -> None:
        self._pidfd = pidfd
        self._zygote_lives = zygote_lives
        self._command = command
        self._reply = reply
        self._status = status
        self._output = output
        self._timed = timed
        self._channel = channel
        self._poll = select.poll()
        self._poll.register(reply, select.POLLIN)
        self._program: int | None = None
        """The pidfd of the process that runs the program, once it is held."""

    def wait_confined(self) -> None:
        """Wait until the worker has given up its rights; nothing of the candidate has run by then.

        Raises:
            HarnessError: it could not be confined.
        """
        try:
            self._expect(CONFINED, CONFINEMENT_TIMEOUT_S)
        except (WorkerEnded, WorkerTimeout):
            reason = self.output_tail().strip() or "it did not answer"
            raise HarnessError(f"a worker could not be confined: {reason}") from None

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until the candidate is loaded (or the compiler has ended).

        Raises:
            WorkerTimeout, WorkerEnded: it did not get there.
        """
        self._expect(READY, timeout_s)

    def give(self, descriptor: int) -> None:
        """Hand a launcher the memory that it is to work in."""
        assert self._channel is not None
        socket.send_fds(self._channel, [b"m"], [descriptor])

    def configure(self, layout: dict[str, object], timeout_s: float) -> None:
        """Bind the next calls to a layout of the shared memory."""
        self._release()
        data = json.dumps(layout).encode()
        self._send(CONFIGURE + struct.pack("=I", len(data)) + data, timeout_s)
        self._expect(READY, timeout_s)

    def call(self, timeout_s: float) -> tuple[float, float] | None:
        """One call: returns the moment the worker says that it delivered.

        Returns:
            (elapsed_s, overhead_s) by the device's events from a worker that times itself, else None.
        """
        self._send(GO, timeout_s)
        self._release()
        self._expect(DELIVERED, timeout_s)
        if not self._timed:
            return None
        data = os.read(self._reply, TIMES.size)
        if len(data) != TIMES.size:
            raise WorkerEnded
        elapsed_s, overhead_s = TIMES.unpack(data)
        return elapsed_s, overhead_s

    def hold(self) -> None:
        """Stop the program until its next call or layout: no signal handler, timer or thread of it runs meanwhile.

        What ran between calls could compute ahead on what the judge lays out, or slow the program that is timed.
        """
        if self._program is None:
            pid = self.pid()
            self._program = -1 if pid is None else os.pidfd_open(pid)
        self._signal(signal.SIGSTOP)

    def _release(self) -> None:
        if self._program is not None:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._program is not None and self._program >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._program, number)

    def wait_end(self, timeout_s: float) -> WorkerEnd:
        """Wait for a worker that ends by itself, such as a compiler.

        Raises:
            WorkerTimeout: it still runs.
            HarnessError: the judge's side failed, or it was killed with its zygote, which no candidate can reach.
        """
        if not select.select([self._status], [], [], timeout_s)[0]:
            raise WorkerTimeout
        data = os.read(self._status, 4096)
        if not data:
            if not self._zygote_lives():
                raise HarnessError("a worker was killed with its zygote, from outside the judge")
            # Process 1 was killed: only the candidate, or its use of memory, can be the reason once it is confined.
            return WorkerEnd(exit_code=None, signal=signal.SIGKILL, max_rss_bytes=0)
        ended = WorkerEnd.loads(data)
        if ended.judge_failure:
            raise HarnessError(ended.judge_failure)
        return ended

    def pid(self) -> int | None:
        """The process that runs the program; None where the kernel lists no children."""
        info = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text(encoding="ascii")
        first = next(line.split()[1] for line in info.splitlines() if line.startswith("Pid:"))
        try:
            children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(children[0]) if children else None

    def finish(self, timeout_s: float) -> None:
        """Let it end by itself, so that its product is kept; nothing is lost where it does not."""
        with contextlib.suppress(WorkerTimeout, WorkerEnded):
            self._send(END, timeout_s)
            self._release()
            self.wait_end(timeout_s)

    def output_tail(self) -> str:
        """The end of what the worker printed; untrusted."""
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - OUTPUT_TAIL_BYTES))
        return self._output.read().decode("utf-8", "replace")

    def output(self, limit_bytes: int) -> bytes:
        """The start of what the worker printed; untrusted."""
        self._output.seek(0)
        return self._output.read(limit_bytes)

    def stop(self) -> None:
        """Kill it without waiting for its end; several are closed sooner when all are stopped first."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill whatever is left of the worker; returns when every process of its namespace is gone."""
        self.stop()
        select.select([self._pidfd], [], [], END_TIMEOUT_S)
        for descriptor in (self._pidfd, self._command, self._reply, self._status):
            os.close(descriptor)
        if self._program is not None and self._program >= 0:
            os.close(self._program)
        self._output.close()
        if self._channel is not None:
            self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, data: bytes, timeout_s: float) -> None:
        """Write it all; a worker that does not read, or has filled the pipe itself, is out of time like any other."""
        deadline_s = time.monotonic() + timeout_s
        try:
            while data := data[self._write(data) :]:
                if not select.select([], [self._command], [], max(0.0, deadline_s - time.monotonic()))[1]:
                    raise WorkerTimeout
        except BrokenPipeError:
            raise WorkerEnded from None

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._command, data)
        except BlockingIOError:
            return 0

    def _expect(self, word: bytes, timeout_s: float) -> None:
        if not self._poll.poll(timeout_s * 1000):
            raise WorkerTimeout
        if os.read(self._reply, 1) != word:
            raise WorkerEnded


class Zygote:
    """A fork server of one kind, started on the first use."""

    def __init__(self, preload: str, environment: dict[str, str], layers: tuple[str, ...]) -> None:
        self._preload = preload
        self._layers = layers
        self._environment = environment
        # Not those of the moment at which it starts: the judge may be timing, pinned to one core.
        self._cores = os.sched_getaffinity(0)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def spawn(
        self, spec: WorkerSpec, shared: int, *, channel: socket.socket | None = None, product: int | None = None
    ) -> Worker:
        """Fork a worker and wait until it is confined, else as `start`.

        Raises:
            HarnessError: there is no zygote, or the worker could not be confined.
        """
        return confined(self.start(spec, shared, channel=channel, product=product))

    def start(
        self, spec: WorkerSpec, shared: int, *, channel: socket.socket | None = None, product: int | None = None
    ) -> Worker:
        """Fork a worker that confines itself meanwhile; a zygote that was killed since the last is started again.

        Args:
            shared: the descriptor of the shared memory, or the far end of `channel`.
            product: the descriptor of the file that is to take the worker's product.

        Raises:
            HarnessError: there is no zygote.
        """
        command_read, command_write = os.pipe()
        reply_read, reply_write = os.pipe()
        status_read, status_write = os.pipe()
        # Not a file: a full disk shall not cost a candidate its last words.
        output = os.fdopen(os.memfd_create("output"), "rb+")
        # A file description of its own: the judge's position and flags are out of the worker's reach.
        sink = os.open(f"/proc/self/fd/{output.fileno()}", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.set_blocking(command_write, False)
        given = [command_read, reply_write, shared, sink, status_write, *([] if product is None else [product])]
        try:
            pidfd = self._fork(spec, given)
        finally:
            for descriptor in (command_read, reply_write, status_write, sink):
                os.close(descriptor)
        lives = partial(_is_connected, self._control)
        return Worker(pidfd, command_write, reply_read, status_read, output, lives, timed=spec.timed, channel=channel)

    def _fork(self, spec: WorkerSpec, given: list[int]) -> int:
        """The pidfd of the new worker's warden."""
        for _ in range(2):
            control = self._control or self._start()
            with contextlib.suppress(OSError):
                socket.send_fds(control, [spec.dumps()], given)
                data, descriptors, _, _ = socket.recv_fds(control, 1024, 1)
                if descriptors:
                    return descriptors[0]
                if data:
                    raise HarnessError(f"a worker could not be started: {data.decode().strip()}")
            self.close()
        raise HarnessError(f"the {self._preload} zygote does not answer")

    def close(self) -> None:
        """End the zygote and, through it, all its workers."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*ZYGOTE, str(theirs.fileno()), self._preload, ",".join(self._layers)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=self._environment,
            )
        os.sched_setaffinity(self._process.pid, self._cores)
        ours.settimeout(ZYGOTE_START_TIMEOUT_S)
        try:
            greeting = ours.recv(16)
        except TimeoutError:
            greeting = b""
        if greeting != b"ready":
            ours.close()
            raise HarnessError(f"the {self._preload} zygote did not start (exit code {self._process.poll()})")
        ours.settimeout(None)
        self._control = ours
        return ours


def confined(worker: Worker) -> Worker:
    """The worker, once it is confined.

    Raises:
        HarnessError: it could not be; it is closed.
    """
    try:
        worker.wait_confined()
    except HarnessError:
        worker.close()
        raise
    return worker


def _is_connected(control: socket.socket | None) -> bool:
    """Whether the zygote at the other end lives; it never speaks unasked."""
    return control is not None and control.fileno() >= 0 and not select.select([control], [], [], 0)[0]


def wait_or_timeout(worker: Worker, timeout_s: float) -> WorkerEnd | None:
    """How the worker ended, or None when it had to be stopped first."""
    try:
        return worker.wait_end(timeout_s)
    except WorkerTimeout:
        return None
