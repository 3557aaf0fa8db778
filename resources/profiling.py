"""A deep profile as short facts: each figure with its unit in its name, and why those that are missing are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from ..memory.schema import CpuProfile, KernelProfile, Metric, ProfilingReport, Record
from .outline import Fact
from .untrusted import clean

SIGNIFICANT_DIGITS = 4
MAX_CHARS = 3_000
"""Of a profile inside an evaluation's answer: the verdict keeps the rest of its 8,000."""
MAX_REASON_CHARS = 300
MAX_NAME_CHARS = 120


def profiling_facts(report: ProfilingReport, max_chars: int = MAX_CHARS) -> dict[str, Fact]:
    """The report within `max_chars` characters of JSON: the totals always, then as many launches as fit.

    Launches are left out from the shortest; `launches_left_out` says how many, and the raw report has them all.
    """
    kernels = sorted(report.kernels, key=lambda kernel: -(kernel.duration_us.value or 0.0))
    for level in (_in_full, _in_short):
        for shown in range(len(kernels), 0, -1):
            facts = _facts(report, kernels[:shown], level)
            if len(json.dumps(facts, ensure_ascii=False)) <= max_chars:
                return facts
    return _facts(report, [], _in_short)


def cpu_facts(profile: CpuProfile) -> dict[str, Fact]:
    """The counters of a worker on the CPU, and why those that are missing are."""
    missing: dict[str, list[str]] = {}
    return {"tool": profile.tool, **_figures(profile, missing), **_unavailable(missing)}


def _facts(
    report: ProfilingReport,
    kernels: list[KernelProfile],
    level: Callable[[KernelProfile, dict[str, list[str]]], dict[str, Fact]],
) -> dict[str, Fact]:
    missing: dict[str, list[str]] = {}
    total = report.total
    facts: dict[str, Fact] = {
        "tool": report.tool,
        "device": clean(report.device_name),
        "launches": total.launches,
        "bottleneck": total.bottleneck.kind,
        "reasons": [clean(reason)[:MAX_REASON_CHARS] for reason in total.bottleneck.reasons],
        **_figures(total, missing),
        "longest_kernel": clean(total.longest_kernel)[:MAX_NAME_CHARS],
    }
    if kernels:
        facts["kernels"] = [level(kernel, missing) for kernel in kernels]
    left_out = total.launches - len(kernels)
    if left_out:
        facts["launches_left_out"] = left_out
    if report.raw_report is not None:
        facts["raw_report"] = f"artifact://{report.raw_report.digest}"
    return {**facts, **_unavailable(missing)}


def _in_full(kernel: KernelProfile, missing: dict[str, list[str]]) -> dict[str, Fact]:
    limits = kernel.launch.occupancy_limited_by
    return {
        **_in_short(kernel, missing),
        **({"occupancy_limited_by": list(limits)} if limits else {}),
        **_figures(kernel.launch, missing),
        **_figures(kernel.roofline, missing),
        **_figures(kernel.memory, missing),
        **_figures(kernel.warps, missing),
        **_figures(kernel.instructions, missing),
        "stalls_pct": {stall.reason: _short(stall.share_pct) for stall in kernel.stalls},
    }


def _in_short(kernel: KernelProfile, missing: dict[str, list[str]]) -> dict[str, Fact]:
    return {
        "kernel": clean(kernel.kernel)[:MAX_NAME_CHARS],
        "grid": list(kernel.launch.grid),
        "block": list(kernel.launch.block),
        **_figures(kernel, missing),
        "bottleneck": kernel.bottleneck.kind,
    }


def _figures(record: Record, missing: dict[str, list[str]]) -> dict[str, Fact]:
    """The record's own metrics by name; those without a value go to `missing` under their reason."""
    facts: dict[str, Fact] = {}
    for name, metric in record:
        if not isinstance(metric, Metric):
            continue
        if metric.value is not None:
            facts[name] = _short(metric.value)
        elif name not in (names := missing.setdefault(metric.source, [])):
            names.append(name)
    return facts


def _unavailable(missing: Mapping[str, list[str]]) -> dict[str, Fact]:
    if not missing:
        return {}
    return {"unavailable": {", ".join(names): clean(why)[:MAX_REASON_CHARS] for why, names in missing.items()}}


def _short(value: float) -> float | int:
    short = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return int(short) if short.is_integer() else short
