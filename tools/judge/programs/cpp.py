"""A shared library with one C entry."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from ..worker_spec import EXIT_ENTRY_STATUS, WorkerSpec
from .serving import Answering, Layout, give_up


class CppProgram:
    """The loaded library and the memory that its arguments point into."""

    def __init__(self, spec: WorkerSpec, shared: int) -> None:
        self._function = getattr(ctypes.CDLL(spec.target), spec.entry)
        self._loop = ctypes.CDLL(spec.loop).serve
        self._memory = mmap.mmap(shared, spec.shared_bytes)

    def configure(self, layout: Layout) -> Answering:
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        tensors = [*layout["inputs"], *layout["parameters"], *layout["outputs"]]
        return native(
            self._loop, self._function, [*(base + tensor["offset"] for tensor in tensors), *layout["symbols"]]
        )


def native(loop: Any, entry: Any, arguments: list[int]) -> Answering:
    """Calls of `entry` (None: of nothing), each a pointer or an int64."""
    values = (ctypes.c_int64 * len(arguments))(*arguments)
    status = ctypes.c_int(0)

    def answer(command: int, reply: int) -> bytes:
        word = loop(command, reply, entry, values, ctypes.byref(status))
        if word < 0:
            give_up(EXIT_ENTRY_STATUS, f"the entry returned {status.value}; 0 means done")
        return bytes([word]) if word else b""

    return Answering(answer)


def load(spec: WorkerSpec, shared: int) -> CppProgram:
    """Load the library; its constructors run here."""
    return CppProgram(spec, shared)
