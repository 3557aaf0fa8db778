"""Starting `store_worker.py` and talking to it, with a bound on every wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

WORKER = Path(__file__).with_name("store_worker.py")
TIMEOUT_S = 60.0


class WorkerProcess:
    """A started worker: lines come in, permission to go on and signals go out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def read_line(self) -> str:
        """The next line, without its end; empty once the worker has ended."""
        return _of(self.process.stdout).readline().rstrip("\n")

    def go_on(self) -> None:
        """Answer the line that the worker waits for."""
        stdin = _of(self.process.stdin)
        stdin.write("\n")
        stdin.flush()

    def kill(self) -> None:
        """SIGKILL; returns when it is dead and reaped."""
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def kill_and_leave_unreaped(self) -> None:
        """SIGKILL; returns when it is dead but still has its entry in the process table."""
        self.process.kill()
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)


@contextmanager
def worker(action: str, home: Path, *numbers: int) -> Iterator[WorkerProcess]:
    """A worker that is killed after TIMEOUT_S, so that no read waits for ever, and at the end."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", str(WORKER), action, str(home), *map(str, numbers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    watchdog = threading.Timer(TIMEOUT_S, process.kill)
    watchdog.start()
    try:
        with process:
            try:
                yield WorkerProcess(process)
            finally:
                process.kill()
    finally:
        watchdog.cancel()
        watchdog.join()


def _of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
