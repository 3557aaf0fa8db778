"""From raw metrics to figures that say where they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....memory.schema import Metric
from .ncu_csv import Launch

DURATION = "gpu__time_duration.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
CYCLES = "smsp__cycles_elapsed.avg"
TENSOR = "sm__ops_path_tensor_src_"
"""Operations of the tensor cores by input type. An H200 counts 2 * 1024^3 for a product of 1024 x 1024 matrices; the
metrics `sm__ops_path_tensor_op_*` count the same operations once more, by instruction."""
TENSOR_DTYPES = {"fp64": "float64", "tf32": "tfloat32", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8"}
CORE = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
CORE_FLOPS: Mapping[str, Mapping[str, int]] = {
    "float64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "float32": {"fadd": 1, "fmul": 1, "ffma": 2},
    # Two halves in an instruction, as ncu's own roofline counts. hadd is left out: a conversion from half to float
    # runs as one (HADD2.F32), and a naive half matrix product would seem to do three to five times its work.
    "float16": {"hmul": 2, "hfma": 4},
}
"""Floating-point operations of one thread's instruction, outside the tensor cores."""


@dataclass(frozen=True)
class RooflinePeaks:
    """What the device was measured to do at best."""

    source: str
    """How they were taken, in a few words."""
    copy_gb_s: float | None
    """Bytes read and written by a device copy, in 10^9 bytes per second."""
    matmul_tflops: Mapping[str, float]
    """By dtype: float64, float32 (no TF32), tfloat32, float16, bfloat16, float8."""


NO_PEAKS = RooflinePeaks("no peaks were measured on this device", None, {})


def measured(launch: Launch, name: str, unit: str, scale: float = 1.0) -> Metric:
    """A counter as it is, in `unit`: `scale` times ncu's base unit."""
    value = launch.number(name)
    if value is None:
        return unavailable(unit, f"ncu gave no number for {name}")
    return Metric(kind="measured", value=value * scale, unit=unit, source=name)


def derived(launch: Launch, unit: str, formula: str, names: tuple[str, ...], work: Callable[..., float]) -> Metric:
    """`work` over the named counters, in their order; `formula` says the same in words."""
    values = [launch.number(name) for name in names]
    missing = [name for name, value in zip(names, values, strict=True) if value is None]
    if missing:
        return unavailable(unit, f"ncu gave no number for {', '.join(missing)}")
    return worked_out(unit, formula, lambda: work(*values))


def worked_out(unit: str, formula: str, work: Callable[[], float]) -> Metric:
    """A figure by its formula; unavailable where that divides by zero or has no finite value."""
    try:
        value = work()
    except ZeroDivisionError:
        return unavailable(unit, f"{formula} divides by zero here")
    if not math.isfinite(value):
        return unavailable(unit, f"{formula} has no finite value here")
    return Metric(kind="derived", value=value, unit=unit, source=formula)


def combined(unit: str, formula: str, parts: tuple[Metric, ...], work: Callable[..., float]) -> Metric:
    """`work` over other figures; unavailable for the first reason that one of them is."""
    for part in parts:
        if part.value is None:
            return unavailable(unit, part.source)
    return worked_out(unit, formula, lambda: work(*(part.value for part in parts)))


def unavailable(unit: str, why: str) -> Metric:
    """A figure that is not there."""
    return Metric(kind="unavailable", unit=unit, source=why)


def core_ops(launch: Launch, dtype: str) -> Metric:
    """Floating-point operations of one dtype outside the tensor cores."""
    weights = CORE_FLOPS[dtype]
    names = tuple(CORE.format(op) for op in weights)
    terms = " + ".join(f"{weight} * {name}" for name, weight in zip(names, weights.values(), strict=True))

    def work(cycles: float, *rates: float) -> float:
        return cycles * sum(weight * rate for weight, rate in zip(weights.values(), rates, strict=True))

    return derived(launch, "FLOP", f"({terms}) * {CYCLES}", (CYCLES, *names), work)


def tensor_ops(launch: Launch) -> dict[str, float]:
    """Operations of the tensor cores by input type as ncu names it (fp16, bf16, int8, ...), zeros left out."""
    found: dict[str, float] = {}
    for name, metric in launch.metrics.items():
        if name.startswith(TENSOR) and name.endswith(".sum") and metric.value:
            kind = name.removeprefix(TENSOR).removesuffix(".sum").split("_")[0]
            found[kind] = found.get(kind, 0.0) + metric.value
    return found


def has_tensor_counters(launch: Launch) -> bool:
    """Whether ncu counts tensor operations by type on this device."""
    return any(name.startswith(TENSOR) and name.endswith(".sum") for name in launch.metrics)


def flops_by_dtype(launch: Launch) -> dict[str, float]:
    """Floating-point operations of one launch by dtype, tensor cores included; what ncu did not count is left out."""
    counts = {dtype: core_ops(launch, dtype).value or 0.0 for dtype in CORE_FLOPS}
    for kind, operations in tensor_ops(launch).items():
        if kind in TENSOR_DTYPES:
            dtype = TENSOR_DTYPES[kind]
            counts[dtype] = counts.get(dtype, 0.0) + operations
    return counts


FLOP_FORMULA = (
    "sum over dtypes of the instructions' FLOP outside the tensor cores (see fp64_ops, fp32_ops, fp16_ops) + "
    f"{TENSOR}*.sum of the floating-point types"
)


def total_flops(launch: Launch) -> Metric:
    """All floating-point operations of one launch."""
    if core_ops(launch, "float32").value is None and not has_tensor_counters(launch):
        return unavailable("FLOP", "ncu counted no floating-point instructions: run it with --set full")
    return Metric(kind="derived", value=sum(flops_by_dtype(launch).values()), unit="FLOP", source=FLOP_FORMULA)
