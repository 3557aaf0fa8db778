"""A kernel's parameters in memory, each of the size that the compiled code wants; and the driver's answers."""

from __future__ import annotations

import ctypes
from typing import Any

from cuda.bindings import driver

from ..worker_spec import EXIT_LAUNCH
from .serving import give_up

POINTER_BYTES = 8
TENSOR_MAP_BYTES = 128


def ask(result: tuple[Any, ...], doing: str, code: int = EXIT_LAUNCH) -> Any:
    """The value of a driver call; a refusal ends the worker, because a CUDA error may poison the whole context."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        text = driver.cuGetErrorString(status)[1]
        give_up(code, f"{doing}: {status.name}: {text.decode() if text else ''}")
    return values[0] if values else None


class Arguments:
    """A kernel's parameters, each of the size that the compiled code wants."""

    def __init__(self, function: Any, name: str) -> None:
        self._name = name
        self._sizes: list[int] = []
        while True:
            status, _, size = driver.cuFuncGetParamInfo(function, len(self._sizes))
            if status != driver.CUresult.CUDA_SUCCESS:
                break
            self._sizes.append(int(size))
        self._values: list[Any] = []

    def pointer(self, address: int) -> None:
        self._next(POINTER_BYTES, "a pointer")
        self._values.append(ctypes.c_uint64(address))

    def tensor_map(self, tensor_map: Any) -> None:
        self._next(TENSOR_MAP_BYTES, "a tensor map")
        self._values.append((ctypes.c_char * TENSOR_MAP_BYTES).from_address(int(tensor_map.getPtr())))

    def integer(self, value: int) -> None:
        size = self._next(None, "an integer")
        if size not in (4, 8) or not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            give_up(
                EXIT_LAUNCH,
                f"kernel {self._name}: argument {len(self._values)} takes {size} bytes; {value} does not fit",
            )
        self._values.append((ctypes.c_uint32 if size == 4 else ctypes.c_uint64)(value & ((1 << 8 * size) - 1)))

    def finish(self) -> int:
        """The address of the parameter array; compilers' own parameters behind the declared ones are null."""
        given = len(self._values)
        self._values += [ctypes.create_string_buffer(size) for size in self._sizes[given:]]
        self._array = (ctypes.c_void_p * max(1, len(self._values)))(
            *(ctypes.addressof(value) for value in self._values)
        )
        return ctypes.addressof(self._array)

    def _next(self, wanted: int | None, what: str) -> int:
        position = len(self._values)
        if position >= len(self._sizes):
            give_up(EXIT_LAUNCH, f"kernel {self._name} takes {len(self._sizes)} arguments; the plan gives more")
        size = self._sizes[position]
        if wanted is not None and size != wanted:
            give_up(
                EXIT_LAUNCH,
                f"kernel {self._name}: argument {position} takes {size} bytes; the plan gives {what} ({wanted} bytes)",
            )
        return size
