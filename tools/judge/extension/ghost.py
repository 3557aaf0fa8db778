"""In a worker of its own: the candidate's kernels run, and what they gave is spoiled; whatever else ran is listed.

Where the outputs are right all the same, the kernels were not needed. The list is the process's own word: it serves
as evidence beside a fact that the judge sees for itself, never as the fact.
"""

from __future__ import annotations

import ctypes
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .observation import MAX_NAMES, OBSERVATION_NAME, Observation

Function = Callable[..., Any]


class Ghost:
    """Spoils what extensions and Triton kernels give, and keeps what it saw in the worker's scratch folder."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._before = set(loaded_libraries())
        self._operators: dict[str, None] = {}
        self._kernels: dict[str, None] = {}
        self._opaque = False
        self._own_work = False
        self._last: list[torch.Tensor] = []
        self._reused = False

    def module(self, module: Any) -> Any:
        """An extension with the same functions, whose results are spoiled."""
        if not isinstance(module, types.ModuleType):
            self._opaque = True  # operators that registered themselves: they cannot be wrapped
            return module
        ghost = types.ModuleType(module.__name__)
        for name, value in vars(module).items():
            # A class's methods would go unspoiled.
            self._opaque = self._opaque or isinstance(value, type)
            vars(ghost)[name] = self._spoiling(value, name) if callable(value) and name[:2] != "__" else value
        return ghost

    def haunt_triton(self) -> None:
        """The same for Triton kernels, where the candidate has imported Triton."""
        jit = sys.modules.get("triton.runtime.jit")
        if jit is not None:
            run = jit.JITFunction.run

            def haunted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
                return self._spoiling(lambda *a, **k: run(kernel, *a, **k), kernel.__name__)(*args, **kwargs)

            jit.JITFunction.run = haunted

    def call(self, model: Function, *args: Any, **kwargs: Any) -> Any:
        """One call of the candidate, watched."""
        with _Operators(self._note):
            result = model(*args, **kwargs)
        delivered = [value for value in _tensors((result,)) if value.numel()]
        # The last results are still held, so the allocator cannot have handed out their memory again.
        places = {value.untyped_storage().data_ptr() for value in self._last}
        self._reused = self._reused or any(value.untyped_storage().data_ptr() in places for value in delivered)
        inputs = {value.untyped_storage().data_ptr() for value in _tensors((args, kwargs))}
        self._last = [value for value in delivered if value.untyped_storage().data_ptr() not in inputs]
        self._write()
        return result

    def _note(self, operator: str) -> None:
        if not self._own_work and len(self._operators) < MAX_NAMES:
            self._operators[operator[:200]] = None

    def _write(self) -> None:
        observation = Observation(
            operators=tuple(self._operators),
            kernels=tuple(self._kernels)[:MAX_NAMES],
            opaque=self._opaque,
            output_buffer_reused=self._reused,
            libraries=tuple(sorted(set(loaded_libraries()) - self._before))[:MAX_NAMES],
        )
        (self._scratch / OBSERVATION_NAME).write_text(observation.model_dump_json(), encoding="utf-8")

    def _spoiling(self, function: Function, name: str) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._kernels[name[:200]] = None
            with self._unwatched():
                given = list(_tensors((args, kwargs)))
                before = [value.clone() for value in given]
            result = function(*args, **kwargs)
            with self._unwatched():
                changed = [value for value, old in zip(given, before, strict=True) if not _same(value, old)]
                _spoil([*changed, *_tensors((result,))])
            return result

        return call

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        self._own_work = True
        try:
            yield
        finally:
            self._own_work = False


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it so
    """Names every operator that goes through torch's dispatcher, those that C++ calls included."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._note_operator = note

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch imports its compiler at the first operator, which takes a second.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        self._note_operator(str(func.overloadpacket))
        return func(*args, **(kwargs or {}))


def loaded_libraries() -> list[str]:
    """The shared objects of this process, from the loader itself: a confined worker has no /proc."""
    files: dict[str, None] = {}

    def visit(entry: Any, size: int, data: Any) -> int:
        del size, data
        files[os.fsdecode(entry.contents.name or b"")[:500]] = None
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.c_void_p)(visit)
    ctypes.CDLL(None).dl_iterate_phdr(callback, None)
    # A name without a folder is the kernel's own page.
    return [str(Path(name).absolute()) for name in files if "/" in name]


class _Loaded(ctypes.Structure):
    """The start of glibc's dl_phdr_info."""

    _fields_ = (("address", ctypes.c_size_t), ("name", ctypes.c_char_p))


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        yield from _tensors(tuple(values.values()))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal bit for bit as far as values show it: NaN equals NaN."""
    return bool(torch.equal(one.isnan(), other.isnan()) and torch.equal(one.nan_to_num(), other.nan_to_num()))


def _spoil(values: Iterable[torch.Tensor]) -> None:
    done = set()
    for value in values:
        if value.data_ptr() in done:
            continue
        done.add(value.data_ptr())
        if value.is_floating_point() or value.is_complex():
            value.fill_(float("nan"))
        else:
            value.bitwise_not_()
