"""A Triton candidate in Triton's interpreter, on the processor: whether its outputs are right, never how fast it is."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from ..worker_spec import EXIT_CALL, EXIT_SETUP, WorkerSpec
from .python_file import execute, located
from .serving import Call, Layout, give_up
from .triton_compiler import Refused, find_kernel

POISON_BYTE = 0xFF


class InterpreterProgram:
    """The candidate's kernels, and the memory that their arguments point into."""

    def __init__(self, spec: WorkerSpec, shared: int) -> None:
        torch.set_num_threads(spec.threads)
        self._path = spec.target
        self._namespace = execute(spec.target)
        self._bytes = torch.frombuffer(mmap.mmap(shared, spec.shared_bytes), dtype=torch.uint8)

    def configure(self, layout: Layout) -> Call:
        items = [*layout["inputs"], *layout["parameters"], *layout["outputs"]]
        tensors = [self._view(item) for item in items if "offset" in item]
        scratch = [_scratch(entry) for entry in layout["scratch"]]
        zeroed = [buffer for buffer, entry in zip(scratch, layout["scratch"], strict=True) if entry["zeroed"]]
        steps = [self._step(step, tensors, scratch) for step in layout["steps"]]

        def call() -> None:
            for buffer in zeroed:
                buffer.zero_()
            try:
                for step in steps:
                    step()
            except Exception as error:  # noqa: BLE001  a kernel may raise anything
                give_up(EXIT_CALL, f"{located(error, self._path)} (in Triton's interpreter)")

        return call

    def _step(
        self, step: dict[str, Any], tensors: list[torch.Tensor], scratch: list[torch.Tensor]
    ) -> Callable[[], None]:
        try:
            kernel = find_kernel(self._namespace, step["function"], Path(self._path).name, InterpretedFunction)
        except Refused as error:
            give_up(EXIT_SETUP, str(error))
        given = [
            tensors[value] if kind == "tensor" else scratch[value] if kind == "scratch" else value
            for kind, value in step["arguments"]
        ]
        launch, constants = kernel[tuple(step["grid"])], step["constants"]
        # Constants may stand anywhere among the parameters.
        names = [parameter.name for parameter in JITFunction(kernel.fn).params if not parameter.is_constexpr]

        def run() -> None:
            launch(**dict(zip(names, given, strict=True)), **constants)

        return run

    def _view(self, item: Layout) -> torch.Tensor:
        dtype = getattr(torch, item["dtype"])
        count = dtype.itemsize
        for extent in item["shape"]:
            count *= extent
        return self._bytes[item["offset"] : item["offset"] + count].view(dtype).view(item["shape"])


def _scratch(entry: dict[str, Any]) -> torch.Tensor:
    """Garbage to begin with: every float in it is NaN."""
    flat = torch.empty(entry["bytes"], dtype=torch.uint8).fill_(POISON_BYTE)
    return flat.view(getattr(torch, entry["dtype"]))


def load(spec: WorkerSpec, shared: int) -> InterpreterProgram:
    """Run the candidate's file."""
    return InterpreterProgram(spec, shared)
