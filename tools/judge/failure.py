"""How a candidate failed: from what its worker did to a status and a sentence."""

from __future__ import annotations

import signal
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from ...memory.schema import Finding, ShapeResult, Status
from .worker import Worker, WorkerEnded, WorkerTimeout
from .worker_spec import (
    EXIT_CALL,
    EXIT_DTYPE,
    EXIT_ENTRY_STATUS,
    EXIT_LAUNCH,
    EXIT_MEMORY,
    EXIT_PARAMETERS,
    EXIT_SETUP,
    EXIT_SHAPE,
    WorkerEnd,
)

LAST_WORDS_TIMEOUT_S = 5
MEMORY_WORDS = ("std::bad_alloc", "MemoryError", "Cannot allocate memory", "out of memory", "can't allocate memory")
SPACE_WORDS = ("No space left on device", "File too large")
PROCESS_WORDS = ("Resource temporarily unavailable", "can't start new thread")

STATUS_OF_EXIT = {
    EXIT_SETUP: Status.RUNTIME_ERROR,
    EXIT_ENTRY_STATUS: Status.RUNTIME_ERROR,
    EXIT_CALL: Status.RUNTIME_ERROR,
    EXIT_LAUNCH: Status.RUNTIME_ERROR,
    EXIT_SHAPE: Status.INCORRECT_SHAPE,
    EXIT_DTYPE: Status.INCORRECT_DTYPE,
    EXIT_PARAMETERS: Status.CONSTRAINT_VIOLATION,
    EXIT_MEMORY: Status.RESOURCE_LIMIT,
}
STATUS_OF_SIGNAL: dict[int, tuple[Status, str]] = {
    signal.SIGXFSZ: (Status.RESOURCE_LIMIT, "it wrote more than the output limit"),
    signal.SIGXCPU: (Status.RESOURCE_LIMIT, "it used more processor time than allowed"),
    signal.SIGKILL: (Status.RESOURCE_LIMIT, "it was killed, most likely for its memory"),
    signal.SIGSEGV: (Status.RUNTIME_ERROR, "it read or wrote memory that is not its own (SIGSEGV)"),
    signal.SIGFPE: (Status.RUNTIME_ERROR, "an integer division by zero or overflow (SIGFPE)"),
    signal.SIGILL: (Status.RUNTIME_ERROR, "an instruction that this processor does not have (SIGILL)"),
    signal.SIGABRT: (Status.RUNTIME_ERROR, "it aborted (SIGABRT)"),
}


class CandidateFailure(Exception):
    """The candidate is at fault; ends the evaluation with a status."""

    def __init__(
        self,
        status: Status,
        message: str,
        *,
        output: str = "",
        findings: tuple[Finding, ...] = (),
        shape: ShapeResult | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.output = output
        self.findings = findings
        self.shape = shape
        """The shape at which it failed, where it got that far."""


def timed_out(worker: Worker, doing: str, timeout_s: float) -> CandidateFailure:
    """The worker did not answer within its limit."""
    return CandidateFailure(Status.TIMEOUT, f"{doing} took more than {timeout_s:g} s", output=worker.output_tail())


@contextmanager
def blamed(worker: Worker, doing: str, timeout_s: float) -> Iterator[None]:
    """Around one wait for a worker: that it does not answer, or ends, is the candidate's failure."""
    try:
        yield
    except WorkerTimeout:
        raise timed_out(worker, doing, timeout_s) from None
    except WorkerEnded:
        raise died(worker, doing) from None


def died(worker: Worker, doing: str) -> CandidateFailure:
    """The worker ended, or closed its channel, instead of answering."""
    try:
        ended = worker.wait_end(LAST_WORDS_TIMEOUT_S)
    except WorkerTimeout:
        return CandidateFailure(
            Status.RUNTIME_ERROR, f"{doing}: it closed its channel to the judge", output=worker.output_tail()
        )
    output = worker.output_tail()
    status, reason = _classify(ended, output)
    return CandidateFailure(status, f"{doing}: {reason}", output=output)


def _classify(ended: WorkerEnd, output: str) -> tuple[Status, str]:
    if ended.exit_code in (EXIT_SETUP, EXIT_CALL) or ended.signal == signal.SIGABRT:
        if any(word in output for word in MEMORY_WORDS):
            return Status.RESOURCE_LIMIT, "it ran out of the memory that it may use"
        if any(word in output for word in SPACE_WORDS):
            return Status.RESOURCE_LIMIT, "it filled the disk space that it may use"
        if any(word in output for word in PROCESS_WORDS):
            return Status.RESOURCE_LIMIT, "it started more processes or threads than allowed"
    if ended.signal is not None:
        # A real-time signal has no name of its own.
        named = signal.strsignal(ended.signal) or "a real-time signal"
        unknown = (Status.RUNTIME_ERROR, f"it died of signal {ended.signal} ({named})")
        return STATUS_OF_SIGNAL.get(ended.signal, unknown)
    if ended.exit_code in STATUS_OF_EXIT:
        return STATUS_OF_EXIT[ended.exit_code], last_line(output)
    return Status.RUNTIME_ERROR, f"it exited with code {ended.exit_code} before it delivered"


def last_line(text: str) -> str:
    """The last line that says something, as far as one sentence goes."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    return lines[-1][:500] if lines else "it failed without a word"


def clean(text: str) -> str:
    """Untrusted text without control, formatting (bidirectional) and surrogate characters."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
    )
