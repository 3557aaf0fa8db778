"""Inside the worker: load the program, then call it each time the judge says go.

Nothing that a candidate's process says is believed. The judge takes bytes from the shared memory at the moment of
delivery, and an exit code only ever says how a candidate failed. Times are read where no host code of a candidate runs.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn, Protocol

from ..allocator import keep_freed_memory
from ..worker_spec import (
    CONFIGURE,
    DELIVERED,
    EXIT_CALL,
    EXIT_MEMORY,
    EXIT_SETUP,
    GO,
    READY,
    TIMES,
    WorkerSpec,
)

Layout = dict[str, Any]
Call = Callable[[], tuple[float, float] | None]
"""One call; where the program times itself, (elapsed_s, overhead_s) of it."""


@dataclass(frozen=True)
class Answering:
    """Calls that machine code answers by itself."""

    answer: Callable[[int, int], bytes]
    """Given the command and reply descriptors: serves calls until another word comes, which it returns."""


MODULES = {
    "cpp": "cpp",
    "empty": "empty",
    "extension": "extension",
    "interpreter": "interpreter",
    "launcher": "launcher",
    "nvrtc": "nvrtc",
    "pytorch": "pytorch",
    "triton": "triton_compiler",
}


class Program(Protocol):
    """A loaded candidate."""

    def configure(self, layout: Layout) -> Call | Answering:
        """Bind the call to tensors at fixed places of the shared memory."""
        ...


def run(spec: WorkerSpec, command: int, reply: int, shared: int) -> None:
    """Serve the judge until it closes the command pipe."""
    if spec.kind == "exec":
        os.closerange(3, max(command, reply, shared) + 1)
        os.execve(spec.arguments[0], spec.arguments, _environment(spec))
    keep_freed_memory()
    program = _load(spec, shared)
    os.write(reply, READY)
    try:
        _serve(program, command, reply)
    except BaseException as error:  # noqa: BLE001  candidate code may raise anything
        give_up(EXIT_MEMORY if isinstance(error, MemoryError) else EXIT_CALL, error)


def _serve(program: Program, command: int, reply: int) -> None:
    word = os.read(command, 1)
    while word == CONFIGURE:
        call = program.configure(_read_layout(command))
        os.write(reply, READY)
        word = call.answer(command, reply) if isinstance(call, Answering) else _answer(call, command, reply)


def _answer(call: Call, command: int, reply: int) -> bytes:
    while (word := os.read(command, 1)) == GO:
        times = call()
        os.write(reply, DELIVERED if times is None else DELIVERED + TIMES.pack(*times))
    return word


def _environment(spec: WorkerSpec) -> dict[str, str]:
    scratch = spec.confinement.scratch
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": scratch, "TMPDIR": scratch}


def _read_layout(command: int) -> Layout:
    (size,) = struct.unpack("=I", os.read(command, 4))
    data = b""
    while len(data) < size:
        data += os.read(command, size - len(data))
    layout: Layout = json.loads(data)
    return layout


def _load(spec: WorkerSpec, shared: int) -> Program:
    try:
        # One kind a process: what the others import is not here.
        loaded: Program = import_module(f".{MODULES[spec.kind]}", __package__).load(spec, shared)
    except BaseException as error:  # noqa: BLE001  candidate code may raise anything, SystemExit included
        give_up(EXIT_MEMORY if isinstance(error, MemoryError) else EXIT_SETUP, error)
    return loaded


def give_up(code: int, error: BaseException | str) -> NoReturn:
    """End with a code that names the failure; the text goes to the captured output."""
    if isinstance(error, BaseException):
        traceback.print_exception(error)
    else:
        print(error, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
