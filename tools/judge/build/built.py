"""What is to be compiled, what compiling gives, and the protocol between."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ....memory.schema import Candidate, CompileReport, Status, Task
from ..device_code import DeviceCode
from ..failure import CandidateFailure
from ..problem import Shape, Signature

MAX_LOG_BYTES = 1 << 20
MAX_DIAGNOSTICS_CHARS = 6000
MAX_LINE_CHARS = 300
MAX_PRODUCT_BYTES = 64 << 20


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


def take_product(produced: Path, kept: Path) -> Path | None:
    """Copy what the compiler made out of its reach; never follow a link that it left."""
    try:
        descriptor = os.open(produced, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_PRODUCT_BYTES:
            return None
        kept.write_bytes(file.read())
    return kept
