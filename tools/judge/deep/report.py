"""From ncu's launches to a ProfilingReport: every figure read, worked out by a stated formula, or unavailable."""

from __future__ import annotations

from collections.abc import Sequence

from ....memory.schema import Bottleneck, KernelProfile, Metric, ProfileTotals, ProfilingReport
from ..failure import clean
from .bottleneck import classify
from .figures import DURATION, NO_PEAKS, RooflinePeaks, combined, measured, total_flops, unavailable, worked_out
from .ncu_csv import Launch, NcuReport
from .sections import dram_bytes, instructions, launch_figures, memory, roofline, warps
from .stalls import stalls_of

DESCRIBED = 20
"""Launches described one by one: the longest; all of them count in the totals."""
CYCLES_ELAPSED = "sm__cycles_elapsed.max"
DEVICE_NAME = "device__attribute_display_name"


def report_of(raw: NcuReport, peaks: RooflinePeaks = NO_PEAKS) -> ProfilingReport:
    """The report on every launch of one call, against the device's measured peaks."""
    launches = raw.launches
    longest = sorted(range(len(launches)), key=lambda at: -(launches[at].number(DURATION) or 0.0))[:DESCRIBED]
    kernels = tuple(_profile(launches[at], at, peaks) for at in sorted(longest))
    return ProfilingReport(
        device_name=clean(launches[0].text(DEVICE_NAME))[:100] or "unknown",
        total=_total(launches, kernels),
        kernels=kernels,
        warnings=raw.warnings,
    )


def elapsed_cycles(report: ProfilingReport) -> Metric:
    """The objective `elapsed_cycles`: cycles of the busiest multiprocessor, summed over the call's launches."""
    return report.total.elapsed_cycles


def _profile(launch: Launch, index: int, peaks: RooflinePeaks) -> KernelProfile:
    figures, traffic, roof = launch_figures(launch), memory(launch, peaks), roofline(launch, peaks)
    stalls = stalls_of(launch)
    return KernelProfile(
        kernel=launch.kernel,
        launch_index=index,
        duration_us=measured(launch, DURATION, "us", 1e-3),
        elapsed_cycles=measured(launch, CYCLES_ELAPSED, "cycle"),
        bottleneck=classify(launch, figures, traffic, roof, stalls),
        launch=figures,
        roofline=roof,
        memory=traffic,
        warps=warps(launch),
        instructions=instructions(launch),
        stalls=stalls,
    )


def _total(launches: Sequence[Launch], kernels: tuple[KernelProfile, ...]) -> ProfileTotals:
    duration = _summed([measured(launch, DURATION, "us", 1e-3) for launch in launches])
    flops = _summed([total_flops(launch) for launch in launches])
    moved = _summed([dram_bytes(launch) for launch in launches])
    name, spent, bottleneck = _longest_kernel(launches, kernels)
    return ProfileTotals(
        launches=len(launches),
        duration_us=duration,
        elapsed_cycles=_summed([measured(launch, CYCLES_ELAPSED, "cycle") for launch in launches]),
        achieved_tflops=combined(
            "TFLOP/s",
            "all launches' FLOP / their summed duration",
            (flops, duration),
            lambda count, microseconds: count / microseconds / 1e6,
        ),
        arithmetic_intensity_flop_per_byte=combined(
            "FLOP/byte", "all launches' FLOP / their DRAM bytes", (flops, moved), lambda count, size: count / size
        ),
        dram_bandwidth_gb_s=combined(
            "GB/s",
            "all launches' DRAM bytes / their summed duration",
            (moved, duration),
            lambda size, microseconds: size / microseconds / 1e3,
        ),
        longest_kernel=name,
        longest_kernel_share_pct=combined(
            "%",
            "100 * duration of the kernel's launches / duration of all",
            (duration,),
            lambda microseconds: 100 * spent / microseconds,
        ),
        bottleneck=bottleneck,
    )


def _summed(parts: list[Metric]) -> Metric:
    """The sum over launches; one launch's figure stays what it is."""
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        if part.value is None:
            return unavailable(part.unit, part.source)
    first = parts[0]
    return worked_out(first.unit, f"sum over the launches of: {first.source}", lambda: sum(p.value or 0 for p in parts))


def _longest_kernel(launches: Sequence[Launch], kernels: tuple[KernelProfile, ...]) -> tuple[str, float, Bottleneck]:
    """The kernel whose launches take the most time, that time in us, and its longest launch's bottleneck."""
    spent: dict[str, float] = {}
    for launch in launches:
        spent[launch.kernel] = spent.get(launch.kernel, 0.0) + (launch.number(DURATION) or 0.0) / 1e3
    name = max(spent, key=lambda kernel: spent[kernel])
    described = [kernel for kernel in kernels if kernel.kernel == name]
    if not described:
        why = f"the launches of {name} are many and short: none is among the {DESCRIBED} longest, described ones"
        return name, spent[name], Bottleneck(kind="unavailable", reasons=(why,))
    longest = max(described, key=lambda kernel: kernel.duration_us.value or 0.0)
    return name, spent[name], longest.bottleneck
