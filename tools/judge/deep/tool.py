"""Runs a vendor's tool around the thin runner: found, limited in time and output, and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....memory.errors import UnavailableError
from ..failure import clean

OUTPUT_TAIL_BYTES = 8000
MAX_LOG_BYTES = 64 << 20
CHUNK_BYTES = 1 << 16
END_TIMEOUT_S = 10
LOG_NAME = "tool.log"


@dataclass(frozen=True)
class DeepRun:
    """What a tool is put around: one call of a candidate, replayed by a program of the judge."""

    runner: tuple[str, ...]
    """The command line that replays the call on given inputs and ends with code 0."""
    environment: Mapping[str, str]
    """All that the tool and the runner see; TMPDIR and HOME are replaced by a private folder."""
    folder: Path
    """Where that private folder is made, and removed."""
    timeout_s: float


@dataclass(frozen=True)
class ToolEnd:
    """What a tool left behind."""

    exit_code: int
    log: bytes
    """What the tool wrote into its own log: the program's prints are not in it."""
    output_tail: str
    """The end of what tool and program printed: untrusted text, control characters removed."""


def find_tool(name: str, path: str, patterns: Sequence[str], package: str) -> Path:
    """The executable from `path` (as in PATH) or the newest match of the patterns, such as `/opt/x/*/ncu`.

    Raises:
        UnavailableError: it is in none of them; `package` says what to install.
    """
    found = shutil.which(name, path=path)
    if found is not None:
        return Path(found)
    places = [Path(place) for pattern in patterns for place in _matches(pattern)]
    if not places:
        raise UnavailableError(
            f"{name} is not on PATH, and not at {', '.join(patterns)}: install {package}, or put its folder on PATH"
        )
    return places[0]


def _matches(pattern: str) -> list[Path]:
    """Executables that a pattern with one `*` for a version names, the newest version first."""
    matches = Path("/").glob(pattern.lstrip("/"))
    return sorted((place for place in matches if os.access(place, os.X_OK)), key=_version, reverse=True)


def _version(place: Path) -> tuple[int, ...]:
    digits = "".join(letter if letter.isdigit() else " " for letter in str(place))
    return tuple(int(part) for part in digits.split())


def run_tool(command: Sequence[str], log_option: str, run: DeepRun) -> ToolEnd:
    """Run `command log_option LOG runner...` and collect what it left.

    Raises:
        UnavailableError: it could not be started, or did not end within the time limit.
    """
    with tempfile.TemporaryDirectory(dir=run.folder, prefix="deep-", ignore_cleanup_errors=True) as private:
        log = Path(private) / LOG_NAME
        environment = {**run.environment, "TMPDIR": private, "HOME": private, "LC_ALL": "C"}
        with _started([*command, log_option, str(log), *run.runner], environment) as process:
            tail, ended = _drain(process, time.monotonic() + run.timeout_s)
        if not ended:
            raise UnavailableError(
                f"{Path(command[0]).name} did not end within {run.timeout_s:g} s and was stopped: "
                "give it more time or a smaller shape"
            )
        return ToolEnd(process.returncode, _log(log), clean(tail.decode("utf-8", "replace")))


@contextlib.contextmanager
def _started(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        yield process
    finally:
        # The whole group: a profiler's child outlives it otherwise.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(END_TIMEOUT_S)
        if process.stdout is not None:
            process.stdout.close()


def _drain(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """The end of what it printed, and whether it ended by itself before the deadline."""
    if process.stdout is None:
        raise AssertionError("the process was started with a pipe")
    tail = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                return tail, False
            chunk = os.read(process.stdout.fileno(), CHUNK_BYTES)
            if not chunk:
                break
            tail = (tail + chunk)[-OUTPUT_TAIL_BYTES:]
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return tail, False
    return tail, True


def _log(path: Path) -> bytes:
    """The log, if it is a file: a link or a pipe would be the runner's doing, who knows the folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_LOG_BYTES + 1)
