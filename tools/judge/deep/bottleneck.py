"""Which of memory, compute and latency bounds a kernel, with the figures that say so."""

from __future__ import annotations

from ....memory.schema import Bottleneck, LaunchFigures, MemoryFigures, Metric, Roofline, Stall
from .ncu_csv import Launch

COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
BUSY_PCT = 60.0
"""Nsight Compute's own guide: below 60 % of either peak a kernel waits more than it works."""


def classify(
    launch: Launch, figures: LaunchFigures, memory: MemoryFigures, roofline: Roofline, stalls: tuple[Stall, ...]
) -> Bottleneck:
    """The class by the busiest unit of each side; each reason holds the figures that it rests on."""
    compute_pct, memory_pct = launch.number(COMPUTE), launch.number(MEMORY)
    if compute_pct is None or memory_pct is None:
        missing = COMPUTE if compute_pct is None else MEMORY
        return Bottleneck(kind="unavailable", reasons=(f"ncu gave no number for {missing}: run it with --set full",))
    levels = {
        "L1 and shared memory": memory.l1_throughput_pct,
        "L2": memory.l2_throughput_pct,
        "DRAM": memory.dram_throughput_pct,
    }
    by_level = ", ".join(f"{name} {_pct(level)}" for name, level in levels.items())
    units = (
        f"the busiest compute unit runs at {compute_pct:.1f} % of its peak, the busiest memory unit at {memory_pct:.1f}"
    )
    reasons = [f"{units} % ({by_level})"]
    if max(compute_pct, memory_pct) < BUSY_PCT:
        reasons.append(f"both are below {BUSY_PCT:.0f} %: most of the time no unit is busy, warps wait")
        return Bottleneck(kind="latency", reasons=(*reasons, *_waiting(figures, stalls)))
    reasons += _roof(roofline, memory)
    if memory_pct >= compute_pct:
        return Bottleneck(kind="memory", reasons=(*reasons, *_level(levels, memory_pct), *_longest(stalls)))
    return Bottleneck(kind="compute", reasons=(*reasons, *_longest(stalls)))


def _pct(metric: Metric) -> str:
    return "unknown" if metric.value is None else f"{metric.value:.1f} %"


def _waiting(figures: LaunchFigures, stalls: tuple[Stall, ...]) -> list[str]:
    reasons = _longest(stalls)
    waves = figures.waves_per_multiprocessor.value
    if waves is not None and waves < 1:
        x, y, z = figures.grid
        reasons.append(f"{x * y * z} blocks fill {waves:.2f} of one wave: multiprocessors stand idle")
    return reasons


def _longest(stalls: tuple[Stall, ...]) -> list[str]:
    first = next((stall for stall in stalls if stall.reason != "not_selected"), None)
    if first is None:
        return []
    return [f"{first.share_pct:.0f} % of the cycles between two instructions of a warp: {first.meaning}"]


def _level(levels: dict[str, Metric], memory_pct: float) -> list[str]:
    """The level that the busiest memory unit belongs to: the one with the same figure."""
    known = {name: abs(level.value - memory_pct) for name, level in levels.items() if level.value is not None}
    if not known:
        return []
    return [f"the busiest memory unit is in {min(known, key=lambda name: known[name])}"]


def _roof(roofline: Roofline, memory: MemoryFigures) -> list[str]:
    """Against the measured peaks, as far as there are any."""
    reasons = []
    moved, bandwidth = memory.dram_bandwidth_gb_s.value, memory.peak_bandwidth_gb_s.value
    if moved is not None and bandwidth:
        share = 100 * moved / bandwidth
        reasons.append(f"DRAM moves {moved:.4g} GB/s, {share:.1f} % of the {bandwidth:.4g} GB/s of a measured copy")
    peak, intensity = roofline.peak_tflops.value, roofline.arithmetic_intensity_flop_per_byte.value
    reached = roofline.bound_share_pct.value
    if peak is not None and bandwidth and intensity is not None and reached is not None:
        ridge = 1000 * peak / bandwidth
        side = "above the ridge: DRAM does not bound it" if intensity >= ridge else "below the ridge: DRAM bounds it"
        place = f"roofline: {intensity:.3g} FLOP/byte against a ridge of {ridge:.3g} is {side}"
        reasons.append(f"{place}; it reaches {reached:.1f} % of the bound")
    return reasons
