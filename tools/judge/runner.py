"""Inside the worker: load the candidate, then call it each time the judge says go.

Nothing written here is believed. The judge takes bytes from the shared memory at the moment of delivery, and an exit
code only ever says how a candidate failed.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from .worker_spec import (
    CONFIGURE,
    DELIVERED,
    EXIT_CALL,
    EXIT_DTYPE,
    EXIT_ENTRY_STATUS,
    EXIT_MEMORY,
    EXIT_PARAMETERS,
    EXIT_SETUP,
    EXIT_SHAPE,
    GO,
    READY,
    WorkerSpec,
)

Layout = dict[str, Any]


class Program(Protocol):
    """A loaded candidate."""

    def configure(self, layout: Layout, memory: mmap.mmap) -> Callable[[], None]:
        """Bind the call to tensors at fixed places of the shared memory."""
        ...


def run(spec: WorkerSpec, command: int, reply: int, shared: int) -> None:
    """Serve the judge until it closes the command pipe."""
    if spec.kind == "exec":
        os.closerange(3, max(command, reply, shared) + 1)
        os.execve(spec.arguments[0], spec.arguments, _environment(spec))
    program = _load(spec)
    memory = mmap.mmap(shared, spec.shared_bytes)
    os.write(reply, READY)
    try:
        _serve(program, memory, command, reply)
    except BaseException as error:  # noqa: BLE001  candidate code may raise anything
        give_up(EXIT_MEMORY if isinstance(error, MemoryError) else EXIT_CALL, error)


def _serve(program: Program, memory: mmap.mmap, command: int, reply: int) -> None:
    call: Callable[[], None] | None = None
    while True:
        word = os.read(command, 1)
        if word == GO and call is not None:
            call()
            os.write(reply, DELIVERED)
        elif word == CONFIGURE:
            call = program.configure(_read_layout(command), memory)
            os.write(reply, READY)
        else:
            return


def _environment(spec: WorkerSpec) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": spec.scratch, "TMPDIR": spec.scratch}


def _read_layout(command: int) -> Layout:
    (size,) = struct.unpack("=I", os.read(command, 4))
    data = b""
    while len(data) < size:
        data += os.read(command, size - len(data))
    layout: Layout = json.loads(data)
    return layout


def _load(spec: WorkerSpec) -> Program:
    try:
        return _LOADERS[spec.kind](spec)
    except BaseException as error:  # noqa: BLE001  candidate code may raise anything, SystemExit included
        give_up(EXIT_MEMORY if isinstance(error, MemoryError) else EXIT_SETUP, error)


def give_up(code: int, error: BaseException | str) -> NoReturn:
    """End with a code that names the failure; the text goes to the captured output."""
    if isinstance(error, BaseException):
        traceback.print_exception(error)
    else:
        print(error, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class CppProgram:
    """A shared library with one C entry."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._function = getattr(ctypes.CDLL(spec.target), spec.entry)
        self._function.restype = ctypes.c_int

    def configure(self, layout: Layout, memory: mmap.mmap) -> Callable[[], None]:
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        tensors = [*layout["inputs"], *layout["outputs"]]
        arguments = [ctypes.c_void_p(base + tensor["offset"]) for tensor in tensors]
        symbols = [ctypes.c_int64(value) for value in layout["symbols"]]
        function = self._function

        def call() -> None:
            status = function(*arguments, *symbols)
            if status != 0:
                give_up(EXIT_ENTRY_STATUS, f"the entry returned {status}; 0 means done")

        return call


class PytorchProgram:
    """KernelBench's `ModelNew`."""

    def __init__(self, spec: WorkerSpec) -> None:
        import torch  # the zygote has it

        torch.set_num_threads(spec.threads)
        # Two candidate threads would race for the pool that a forked child has not built yet.
        torch.ones(1).add_(1)
        torch.set_grad_enabled(False)
        torch.manual_seed(spec.construction_seed)
        namespace = _execute(spec.target)
        if spec.entry not in namespace:
            raise NameError(f"the candidate defines no class {spec.entry!r}")
        self._torch = torch
        self._model = namespace[spec.entry](*json.loads(spec.init_inputs))

    def configure(self, layout: Layout, memory: mmap.mmap) -> Callable[[], None]:
        self._load_parameters(layout, memory)
        inputs = [item["value"] if "value" in item else self._view(item, memory) for item in layout["inputs"]]
        outputs = [self._view(item, memory) for item in layout["outputs"]]
        model, keywords = self._model, layout["keywords"]

        def call() -> None:
            result = model(*inputs, **keywords)
            delivered = result if isinstance(result, tuple | list) else (result,)
            if len(delivered) != len(outputs):
                give_up(EXIT_SHAPE, f"{len(delivered)} outputs instead of {len(outputs)}")
            for target, value in zip(outputs, delivered, strict=True):
                self._deliver(target, value)

        return call

    def _deliver(self, target: Any, value: Any) -> None:
        torch = self._torch
        if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
            give_up(EXIT_DTYPE, f"an output is a {type(value).__name__}, not a torch.Tensor")
        if value.shape != target.shape:
            give_up(EXIT_SHAPE, f"an output has shape {tuple(value.shape)} instead of {tuple(target.shape)}")
        if value.dtype != target.dtype:
            give_up(EXIT_DTYPE, f"an output has dtype {value.dtype} instead of {target.dtype}")
        target.copy_(value)

    def _view(self, item: Layout, memory: mmap.mmap) -> Any:
        torch = self._torch
        count = 1
        for extent in item["shape"]:
            count *= extent
        flat = torch.frombuffer(memory, dtype=getattr(torch, item["dtype"]), count=count, offset=item["offset"])
        return flat.view(item["shape"])

    def _load_parameters(self, layout: Layout, memory: mmap.mmap) -> None:
        """Take the judge's values, matched by name or else by order; shapes must agree."""
        given = layout["parameters"]
        if not given:
            return
        own = self._model.state_dict()
        names = [item["name"] for item in given]
        ordered = [own[name] for name in names] if set(names) == set(own) else list(own.values())
        expected = [tuple(item["shape"]) for item in given]
        if [tuple(tensor.shape) for tensor in ordered] != expected:
            give_up(
                EXIT_PARAMETERS,
                f"ModelNew's state_dict has {[(name, tuple(tensor.shape)) for name, tensor in own.items()]}; "
                f"Model's has {list(zip(names, expected, strict=True))}: same shapes in the same order are needed",
            )
        for tensor, item in zip(ordered, given, strict=True):
            tensor.copy_(self._view(item, memory))


class EmptyProgram:
    """Does nothing: the judge's own measure of what a call costs by itself."""

    def __init__(self, spec: WorkerSpec) -> None:
        del spec

    def configure(self, layout: Layout, memory: mmap.mmap) -> Callable[[], None]:
        del layout, memory
        return lambda: None


_LOADERS: dict[str, Callable[[WorkerSpec], Program]] = {
    "cpp": CppProgram,
    "pytorch": PytorchProgram,
    "empty": EmptyProgram,
}


def _execute(path: str) -> dict[str, Any]:
    """Run the candidate's file as a module that tools such as inspect and torch can find."""
    import importlib.util  # needed by this language alone

    specification = importlib.util.spec_from_file_location("candidate", path)
    if specification is None or specification.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules["candidate"] = module
    sys.path.insert(0, str(Path(path).parent))
    specification.loader.exec_module(module)
    return vars(module)
