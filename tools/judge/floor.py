"""The least time that physics allows for a call, and the finding where a candidate claims less."""

from __future__ import annotations

from dataclasses import dataclass

from ...memory.expressions import parse
from ...memory.schema import Finding, ShapeTiming, Task
from .peaks import Peaks
from .problem import Shape, Signature

HEADROOM = 2.0
"""A kernel may read or compute faster than torch's own copy and product, and a busy machine shows them too slow."""
RESOLUTION = 0.1
"""Share of the empty call that a measured time may be off by."""
BELOW_FLOOR = "below_physical_floor"


@dataclass(frozen=True)
class Floor:
    """The floor of one shape."""

    ms: float
    reason: str
    """What must happen in this time, with the figures."""


def floor_of(task: Task, shape: Shape, signature: Signature, peaks: Peaks) -> Floor | None:
    """The longer of moving the bytes and doing the operations; None where both are too short to be timed.

    Without declared traffic the outputs alone count: they must be written.
    """
    floors = [_moving(task, shape, signature, peaks), _computing(task, shape, peaks)]
    return max((floor for floor in floors if floor is not None), key=lambda floor: floor.ms, default=None)


def below_floor(timed: list[tuple[Shape, ShapeTiming, Floor | None]]) -> Finding | None:
    """The worst shape at which the candidate took less than its floor."""
    broken = [
        (floor.ms / max(timing.candidate_ms, 1e-9), shape, timing, floor)
        for shape, timing, floor in timed
        if floor is not None and timing.candidate_ms + RESOLUTION * timing.overhead_ms < floor.ms
    ]
    if not broken:
        return None
    _, shape, timing, floor = max(broken, key=lambda entry: entry[0])
    at = ", ".join(f"{name}={value}" for name, value in shape.symbols.items())
    took = f"{timing.candidate_ms:.4g} ms" + (f" at {at}" if at else "")
    evidence = f"{took} is less than the {floor.ms:.4g} ms that {floor.reason}"
    if timing.baseline_ms < floor.ms:
        evidence += f"; the baseline's {timing.baseline_ms:.4g} ms is less as well: check what the task declares"
    return Finding(kind=BELOW_FLOOR, evidence=evidence)


def _moving(task: Task, shape: Shape, signature: Signature, peaks: Peaks) -> Floor | None:
    written = float(sum(plan.size_bytes for plan in signature.outputs))
    moved, source = written, "the outputs alone"
    if task.traffic_bytes is not None:
        declared = float(parse(task.traffic_bytes).evaluate(shape.symbols))
        moved, source = max((declared, f"the task's traffic_bytes ({task.traffic_bytes})"), (written, source))
    rate = peaks.fastest_copy_gb_s(moved)
    if rate is None:
        return None
    reason = f"moving {moved:.4g} bytes, {source}, takes at {HEADROOM:g} times the measured copy of {rate:.4g} GB/s"
    return Floor(1e3 * moved / (HEADROOM * rate * 1e9), reason)


def _computing(task: Task, shape: Shape, peaks: Peaks) -> Floor | None:
    rate = peaks.fastest_gflop_s()
    if task.flops is None or rate is None:
        return None
    operations = float(parse(task.flops).evaluate(shape.symbols))
    reason = (
        f"{operations:.4g} operations, the task's flops ({task.flops}), take at {HEADROOM:g} times the measured "
        f"matrix product of {rate:.4g} GFLOP/s"
    )
    return Floor(1e3 * operations / (HEADROOM * rate * 1e9), reason)
