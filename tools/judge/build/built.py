"""What is to be compiled, what compiling gives, and the protocol between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ....memory.schema import Candidate, CompileReport, Status, Task
from ..device_code import DeviceCode
from ..failure import CandidateFailure
from ..problem import Shape, Signature
from ..worker_spec import WorkerEnd

MAX_LOG_BYTES = 1 << 20
MAX_DIAGNOSTICS_CHARS = 6000
MAX_LINE_CHARS = 300


@dataclass(frozen=True)
class Order:
    """One candidate and what it is to be compiled for."""

    task: Task
    candidate: Candidate
    calls: tuple[tuple[Shape, Signature], ...]
    """Every shape that will run, the timed ones first."""
    arch: str
    """The GPU architecture to compile device code for, such as `sm_90a`."""
    sm_count: int

    @property
    def signature(self) -> Signature:
        """Of the first timed shape."""
        return self.calls[0][1]


@dataclass(frozen=True)
class Built:
    """What compiling gave."""

    report: CompileReport
    log: bytes
    """What the compiler printed, as far as it is kept."""
    target: Path | None
    """The library, the Python file or the device code; None where compiling failed."""
    status: Status = Status.PASSED
    message: str = "compiled"
    device_code: DeviceCode | None = None
    """cuda, triton: what the judge's launcher loads."""
    ptx: tuple[bytes, ...] = ()
    """triton: the virtual assembly of each module."""
    why_not_interpreted: str = ""
    """triton: why the interpreter's word on it would be worth nothing; empty where it can be trusted."""
    loop: Path | None = None
    """cpp: the library that answers the judge's calls in the worker."""


class Compiler(Protocol):
    """One language's way from text to program."""

    def key(self, order: Order) -> Iterable[str]:
        """What the product depends on beside the candidate itself."""
        ...

    def compile(self, order: Order) -> Built:
        """Compile; a failure is a result.

        Raises:
            UnavailableError: this host lacks the compiler.
        """
        ...


def check(built: Built) -> Path:
    """The program's file.

    Raises:
        CandidateFailure: compiling failed.
    """
    if built.target is None:
        raise CandidateFailure(built.status, built.message)
    return built.target


def shorten(log: str) -> tuple[str, bool]:
    """The log with its first error in front, cut at a line end; and whether it was cut."""
    lines = log.splitlines()
    first = next((number for number, line in enumerate(lines) if "error: " in line), 0)
    text = "\n".join([*lines[first:], *lines[:first]])
    if len(text) <= MAX_DIAGNOSTICS_CHARS:
        return text, False
    return text[: text.rfind("\n", 0, MAX_DIAGNOSTICS_CHARS)] if "\n" in text[:MAX_DIAGNOSTICS_CHARS] else text[
        :MAX_DIAGNOSTICS_CHARS
    ], True


def is_made(product: Path, ended: WorkerEnd | None) -> bool:
    """Whether a compiler that ended like this (None: it was stopped) left what the judge could take."""
    return ended is not None and ended.exit_code == 0 and product.stat().st_size > 0
