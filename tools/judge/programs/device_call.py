"""Device code made ready: modules, scratch and launches of one plan, on one stream, timed by events.

A call waits at a gate on the stream until every launch is queued, so that the time between the events is the device's
alone and not that of queueing.
"""

from __future__ import annotations

import base64
import ctypes
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

from ..worker_spec import EXIT_CALL
from .kernel_arguments import Arguments, ask
from .serving import Layout

TENSOR_MAP_TYPES = {
    "uint8": "UINT8", "bool": "UINT8", "int8": "UINT8", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64", "int32": "INT32", "int64": "INT64", "int16": "UINT16",
}  # fmt: skip
ITEM_BYTES = {
    "uint8": 1, "bool": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "float64": 8,
    "int64": 8,
}  # fmt: skip


class DeviceCall:
    """One GPU context and what is launched in it."""

    def __init__(self) -> None:
        ask(driver.cuInit(0), "cuInit")
        device = ask(driver.cuDeviceGet(0), "cuDeviceGet")
        ask(driver.cuCtxSetCurrent(ask(driver.cuDevicePrimaryCtxRetain(device), "the GPU context")), "the GPU context")
        self._stream = ask(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING), "a stream")
        self._events = [ask(driver.cuEventCreate(0), "an event") for _ in range(3)]
        self._gate = int(ask(driver.cuMemHostAlloc(64, driver.CU_MEMHOSTALLOC_DEVICEMAP), "host memory"))
        ctypes.memset(self._gate, 0, 64)
        self._turn = 0
        self._modules: list[Any] = []
        self._scratch: list[tuple[Any, int, bool]] = []

    def load(self, modules: list[str]) -> None:
        """Load cubins (base64)."""
        self._modules = [
            ask(driver.cuModuleLoadData(base64.b64decode(data)), "loading the device code") for data in modules
        ]

    def bind(self, layout: Layout, tensors: list[int]) -> list[Callable[[], None]]:
        """The launches of a call with tensors at these addresses."""
        self._allocate(layout["scratch"])
        maps = [self._tensor_map(entry, tensors) for entry in layout["maps"]]
        steps = [self._step(step, tensors, maps) for step in layout["steps"]]
        ask(driver.cuStreamSynchronize(self._stream), "setting up")
        return steps

    def _allocate(self, buffers: list[dict[str, Any]]) -> None:
        for pointer, _, _ in self._scratch:
            ask(driver.cuMemFree(pointer), "freeing scratch")
        self._scratch = [
            (ask(driver.cuMemAlloc(entry["bytes"]), "allocating scratch"), entry["bytes"], entry["zeroed"])
            for entry in buffers
        ]
        for pointer, size, _ in self._scratch:
            ask(driver.cuMemsetD8Async(pointer, 0xFF, size, self._stream), "poisoning scratch")

    def _tensor_map(self, entry: dict[str, Any], tensors: list[int]) -> Any:
        kind, index = entry["on"]
        address = tensors[index] if kind == "tensor" else int(self._scratch[index][0])
        shape, item = entry["shape"], ITEM_BYTES[entry["dtype"]]
        strides, stride = [], item
        for extent in reversed(shape[1:]):
            stride *= extent
            strides.append(driver.cuuint64_t(stride))
        swizzle = "NONE" if entry["swizzle"] == "none" else entry["swizzle"]
        promotion = "NONE" if entry["l2_promotion"] == "none" else f"L2_{entry['l2_promotion']}"
        return ask(
            driver.cuTensorMapEncodeTiled(
                driver.CUtensorMapDataType[f"CU_TENSOR_MAP_DATA_TYPE_{TENSOR_MAP_TYPES[entry['dtype']]}"],
                len(shape),
                address,
                [driver.cuuint64_t(extent) for extent in reversed(shape)],
                strides,
                [driver.cuuint32_t(extent) for extent in reversed(entry["box"])],
                [driver.cuuint32_t(1)] * len(shape),
                driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                driver.CUtensorMapSwizzle[f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"],
                driver.CUtensorMapL2promotion[f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"],
                driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            ),
            f"encoding tensor map of shape {shape}, box {entry['box']}",
        )

    def _step(self, step: dict[str, Any], tensors: list[int], maps: list[Any]) -> Callable[[], None]:
        name = step["function"]
        function = ask(driver.cuModuleGetFunction(self._modules[step["module"]], name.encode()), f"kernel {name}")
        if step["shared_bytes"]:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            doing = f"kernel {name}: {step['shared_bytes']} bytes of dynamic shared memory"
            ask(driver.cuFuncSetAttribute(function, attribute, step["shared_bytes"]), doing)
        pack = Arguments(function, name)
        for kind, value in step["arguments"]:
            if kind == "tensor":
                pack.pointer(tensors[value])
            elif kind == "scratch":
                pack.pointer(int(self._scratch[value][0]))
            elif kind == "map":
                pack.tensor_map(maps[value])
            else:
                pack.integer(value)
        parameters = pack.finish()
        config = self._config(step)

        def launch() -> None:
            ask(driver.cuLaunchKernelEx(config, function, parameters, 0), f"launching {name}")

        launch.keep = (pack, maps)  # type: ignore[attr-defined]  # the addresses in `parameters` point into these
        return launch

    def _config(self, step: dict[str, Any]) -> driver.CUlaunchConfig:
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = step["grid"]
        config.blockDimX, config.blockDimY, config.blockDimZ = step["block"]
        config.sharedMemBytes = step["shared_bytes"]
        config.hStream = self._stream
        if list(step["cluster"]) != [1, 1, 1]:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            value = driver.CUlaunchAttributeValue()
            value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = step["cluster"]
            attribute.value = value
            config.attrs = [attribute]
            config.numAttrs = 1
        return config

    def run(self, steps: list[Callable[[], None]]) -> None:
        """One call, without the gate: profilers wait for each kernel as it is launched."""
        self._queue(steps)
        ask(driver.cuStreamSynchronize(self._stream), "running the kernels", EXIT_CALL)

    def _queue(self, steps: list[Callable[[], None]]) -> None:
        for pointer, size, zeroed in self._scratch:
            if zeroed:
                ask(driver.cuMemsetD8Async(pointer, 0, size, self._stream), "zeroing scratch")
        for launch in steps:
            launch()

    def run_timed(self, steps: list[Callable[[], None]]) -> tuple[float, float]:
        """One call; (elapsed_s, overhead_s) by events, the second with nothing between them."""
        first, second, third = self._events
        self._turn += 1
        ask(
            driver.cuStreamWaitValue32(
                self._stream, self._gate, self._turn, driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
            ),
            "closing the gate",
        )
        ask(driver.cuEventRecord(first, self._stream), "an event")
        self._queue(steps)
        ask(driver.cuEventRecord(second, self._stream), "an event")
        ask(driver.cuEventRecord(third, self._stream), "an event")
        ctypes.c_uint32.from_address(self._gate).value = self._turn
        ask(driver.cuStreamSynchronize(self._stream), "running the kernels", EXIT_CALL)
        elapsed_ms = ask(driver.cuEventElapsedTime(first, second), "the time")
        overhead_ms = ask(driver.cuEventElapsedTime(second, third), "the time")
        return elapsed_ms / 1e3, overhead_ms / 1e3
