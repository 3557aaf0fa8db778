"""KernelBench's `ModelNew`, on the host or on a GPU."""

from __future__ import annotations

import contextlib
import json
import mmap
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..extension.ghost import Ghost
from ..extension.recorder import MODULE_WORD, Recorder
from ..worker_spec import EXIT_DTYPE, EXIT_PARAMETERS, EXIT_SHAPE, WorkerSpec
from .python_file import execute
from .serving import Call, Layout, give_up

with contextlib.suppress(ImportError):  # the CUDA driver's bindings, which only hosts with a GPU need
    from ..device_map import map_shared
    from ..device_memory import as_bytes

EXIT_RECORDED = 0
"""Before it is ready: what it has written down is what it ended for."""


class PytorchProgram:
    """The constructed model and the memory that its inputs and outputs lie in."""

    def __init__(self, spec: WorkerSpec, shared: int) -> None:
        torch.set_num_threads(spec.threads)
        # Two candidate threads would race for the pool that a forked child has not built yet.
        torch.ones(1).add_(1)
        torch.set_grad_enabled(False)
        self._gpu = spec.gpu
        self._timed = spec.timed
        if spec.gpu:
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = spec.allow_tf32
        torch.manual_seed(spec.construction_seed)
        self._ghost = Ghost(Path(spec.confinement.scratch)) if spec.ghost else None
        recorder = Recorder(Path(spec.target).parent, self._ghost.module if self._ghost else None)
        if MODULE_WORD in Path(spec.target).read_text(encoding="utf-8"):
            recorder.install()
        with recorder.loading(Path(spec.confinement.scratch), partial(give_up, EXIT_RECORDED)):
            namespace = execute(spec.target)
            if spec.entry not in namespace:
                raise NameError(f"the candidate defines no class {spec.entry!r}")
            self._model = namespace[spec.entry](*json.loads(spec.init_inputs))
        if self._ghost:
            self._ghost.haunt_triton()
        if spec.gpu and isinstance(self._model, torch.nn.Module):
            self._model = self._model.cuda()
        self._bytes = _map(spec, shared)

    def configure(self, layout: Layout) -> Call:
        self._load_parameters(layout)
        inputs = [item["value"] if "value" in item else self._view(item) for item in layout["inputs"]]
        outputs = [self._view(item) for item in layout["outputs"]]
        model, keywords = self._model, layout["keywords"]
        if self._ghost:
            model = partial(self._ghost.call, model)

        def call() -> None:
            self._deliver(outputs, model(*inputs, **keywords))

        def call_on_gpu() -> None:
            self._deliver(outputs, model(*inputs, **keywords))
            torch.cuda.synchronize()

        def call_timed() -> tuple[float, float]:
            first, second, third = (torch.cuda.Event(enable_timing=True) for _ in range(3))  # type: ignore[no-untyped-call]
            first.record()
            result = model(*inputs, **keywords)
            second.record()
            third.record()
            self._deliver(outputs, result)
            torch.cuda.synchronize()
            return first.elapsed_time(second) / 1e3, second.elapsed_time(third) / 1e3

        return call_timed if self._timed else call_on_gpu if self._gpu else call

    def _deliver(self, outputs: list[torch.Tensor], result: Any) -> None:
        delivered = result if isinstance(result, tuple | list) else (result,)
        if len(delivered) != len(outputs):
            give_up(EXIT_SHAPE, f"{len(delivered)} outputs instead of {len(outputs)}")
        for target, value in zip(outputs, delivered, strict=True):
            if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
                give_up(EXIT_DTYPE, f"an output is a {type(value).__name__}, not a torch.Tensor")
            if value.shape != target.shape:
                give_up(EXIT_SHAPE, f"an output has shape {tuple(value.shape)} instead of {tuple(target.shape)}")
            if value.dtype != target.dtype:
                give_up(EXIT_DTYPE, f"an output has dtype {value.dtype} instead of {target.dtype}")
            target.copy_(value)

    def _view(self, item: Layout) -> torch.Tensor:
        dtype = getattr(torch, item["dtype"])
        count = dtype.itemsize
        for extent in item["shape"]:
            count *= extent
        return self._bytes[item["offset"] : item["offset"] + count].view(dtype).view(item["shape"])

    def _load_parameters(self, layout: Layout) -> None:
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
            tensor.copy_(self._view(item))


def _map(spec: WorkerSpec, shared: int) -> torch.Tensor:
    """The shared memory, uint8."""
    if not spec.gpu:
        return torch.frombuffer(mmap.mmap(shared, spec.shared_bytes), dtype=torch.uint8)
    torch.cuda.synchronize()
    return as_bytes(map_shared(shared, spec.shared_bytes), spec.shared_bytes)


def load(spec: WorkerSpec, shared: int) -> PytorchProgram:
    """Run the candidate's file and construct its model."""
    return PytorchProgram(spec, shared)
