"""A profile's facts are short, keep their units, and say what is missing."""

from __future__ import annotations

import json

import pytest

from kernelguild.memory.schema import (
    Bottleneck,
    CpuProfile,
    InstructionMix,
    KernelProfile,
    LaunchFigures,
    MemoryFigures,
    Metric,
    ProfileTotals,
    ProfilingReport,
    Roofline,
    Stall,
    WarpFigures,
)
from kernelguild.resources.outline import outline
from kernelguild.resources.profiling import MAX_CHARS, cpu_facts, profiling_facts

MISSING = Metric(kind="unavailable", unit="x", source="no \x1b[31mcounter")


def figure(value: float) -> Metric:
    return Metric(kind="measured", value=value, unit="x", source="a counter")


def kernel(name: str, duration_us: float) -> KernelProfile:
    return KernelProfile(
        kernel=name,
        launch_index=0,
        duration_us=figure(duration_us),
        elapsed_cycles=figure(491_949),
        bottleneck=Bottleneck(kind="memory", reasons=("the memory is busy",)),
        launch=LaunchFigures(
            grid=(64, 64, 1),
            block=(16, 16, 1),
            registers_per_thread=figure(31),
            shared_memory_per_block_bytes=figure(2048),
            waves_per_multiprocessor=figure(3.88),
            occupancy_limits_blocks={"registers": figure(8)},
            occupancy_limited_by=("registers",),
        ),
        roofline=Roofline(**dict.fromkeys(Roofline.model_fields, figure(8.650428))),
        memory=MemoryFigures(**dict.fromkeys(MemoryFigures.model_fields, figure(16.87996912))),
        warps=WarpFigures(**dict.fromkeys(WarpFigures.model_fields, figure(100))),
        instructions=InstructionMix(**dict.fromkeys(InstructionMix.model_fields, MISSING)),
        stalls=(Stall(reason="barrier", cycles_per_instruction=3.74, share_pct=17.379, meaning="waiting"),),
    )


def report(*kernels: KernelProfile, launches: int | None = None) -> ProfilingReport:
    total = ProfileTotals(
        launches=launches or len(kernels),
        duration_us=figure(248.736),
        elapsed_cycles=figure(491_949),
        achieved_tflops=figure(8.65),
        arithmetic_intensity_flop_per_byte=figure(512.467),
        dram_bandwidth_gb_s=figure(16.88),
        longest_kernel=kernels[0].kernel,
        longest_kernel_share_pct=figure(100),
        bottleneck=kernels[0].bottleneck,
    )
    return ProfilingReport(device_name="NVIDIA H200", total=total, kernels=kernels)


def test_one_launch_is_told_in_full_with_units_in_the_names() -> None:
    facts = profiling_facts(report(kernel("rows", 248.736)))
    assert facts["bottleneck"] == "memory"
    assert facts["reasons"] == ["the memory is busy"]
    assert (facts["duration_us"], facts["elapsed_cycles"]) == (248.7, 491_900)
    assert isinstance(facts["kernels"], list)
    (told,) = facts["kernels"]
    assert told["kernel"] == "rows"
    assert told["grid"] == [64, 64, 1]
    assert told["dram_bandwidth_gb_s"] == 16.88
    assert told["achieved_tflops"] == 8.65
    assert told["occupancy_limited_by"] == ["registers"]
    assert told["stalls_pct"] == {"barrier": 17.38}
    assert "launches_left_out" not in facts


def test_what_is_missing_is_named_once_under_its_reason() -> None:
    facts = profiling_facts(report(kernel("rows", 2), kernel("cols", 1)), max_chars=8000)
    assert isinstance(facts["unavailable"], dict)
    ((names, why),) = facts["unavailable"].items()
    assert names.split(", ") == list(InstructionMix.model_fields)
    assert why == "no counter"


@pytest.mark.parametrize("max_chars", [1000, MAX_CHARS, 8000])
def test_facts_fit_the_room_given_and_say_how_many_launches_were_left_out(max_chars: int) -> None:
    kernels = [kernel(f"k{at}_" + "x" * 300, at + 1.0) for at in range(20)]
    facts = profiling_facts(report(*kernels, launches=50), max_chars)
    assert len(json.dumps(facts, ensure_ascii=False)) <= max_chars
    told = facts.get("kernels", [])
    assert isinstance(told, list)
    assert facts["launches_left_out"] == 50 - len(told)
    assert [entry["kernel"][:4] for entry in told] == [f"k{at}_"[:4] for at in range(19, 19 - len(told), -1)]


def test_the_facts_can_be_read_as_an_outline() -> None:
    text = outline(profiling_facts(report(kernel("rows", 2))))
    assert "dram_bandwidth_gb_s: 16.88" in text


def test_counters_of_the_cpu_say_which_are_missing_and_why() -> None:
    profile = CpuProfile(
        wall_ms=figure(12.34567),
        cpu_ms=figure(24.1),
        elapsed_cycles=MISSING,
        instructions=MISSING,
        instructions_per_cycle=MISSING,
        cache_misses=MISSING,
    )
    assert cpu_facts(profile) == {
        "tool": "perf_event",
        "wall_ms": 12.35,
        "cpu_ms": 24.1,
        "unavailable": {"elapsed_cycles, instructions, instructions_per_cycle, cache_misses": "no counter"},
    }
