"""A shared library with one C entry."""

from __future__ import annotations

import ctypes
import mmap

from ..worker_spec import EXIT_ENTRY_STATUS, WorkerSpec
from .serving import Call, Layout, give_up


class CppProgram:
    """The loaded library and the memory that its arguments point into."""

    def __init__(self, spec: WorkerSpec, shared: int) -> None:
        self._function = getattr(ctypes.CDLL(spec.target), spec.entry)
        self._function.restype = ctypes.c_int
        self._memory = mmap.mmap(shared, spec.shared_bytes)

    def configure(self, layout: Layout) -> Call:
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        tensors = [*layout["inputs"], *layout["parameters"], *layout["outputs"]]
        arguments = [ctypes.c_void_p(base + tensor["offset"]) for tensor in tensors]
        symbols = [ctypes.c_int64(value) for value in layout["symbols"]]
        function = self._function

        def call() -> None:
            status = function(*arguments, *symbols)
            if status != 0:
                give_up(EXIT_ENTRY_STATUS, f"the entry returned {status}; 0 means done")

        return call


def load(spec: WorkerSpec, shared: int) -> CppProgram:
    """Load the library; its constructors run here."""
    return CppProgram(spec, shared)
