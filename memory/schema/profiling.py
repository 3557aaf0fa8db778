"""What a profiler saw: each figure with its unit, and where it comes from."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from .artifact import Artifact
from .base import Record, StoredRecord

Dim3 = tuple[int, int, int]


class Metric(Record):
    """One figure. It was read from a counter, worked out by a formula, or it is not there and says why."""

    kind: Literal["measured", "derived", "unavailable"]
    value: float | None = None
    unit: str
    source: str
    """measured: the counter's name. derived: the formula over counters. unavailable: why, and the cure if any."""

    @model_validator(mode="after")
    def _a_figure_is_there_or_not(self) -> Metric:
        if (self.value is None) != (self.kind == "unavailable"):
            raise ValueError(f"a {self.kind} metric with value {self.value}: only unavailable ones have none")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a metric's value is finite, not {self.value}")
        return self


class Bottleneck(Record):
    """What bounds a kernel, with the figures that say so."""

    kind: Literal["memory", "compute", "latency", "unavailable"]
    reasons: tuple[str, ...] = Field(min_length=1)


class Roofline(Record):
    """Arithmetic against memory traffic, and what the device's measured peaks allow."""

    achieved_tflops: Metric
    peak_tflops: Metric
    arithmetic_intensity_flop_per_byte: Metric
    bound_tflops: Metric
    """min(peak_tflops, arithmetic intensity * peak bandwidth)."""
    bound_share_pct: Metric
    """achieved_tflops / bound_tflops."""


class MemoryFigures(Record):
    """The memory hierarchy."""

    l1_hit_rate_pct: Metric
    l2_hit_rate_pct: Metric
    dram_bytes: Metric
    dram_bandwidth_gb_s: Metric
    peak_bandwidth_gb_s: Metric
    dram_throughput_pct: Metric
    l2_throughput_pct: Metric
    l1_throughput_pct: Metric
    shared_mem_bank_conflicts: Metric
    global_load_sectors_per_request: Metric
    """32-byte sectors touched by one warp's load: 4 for 32 neighbouring 4-byte values, 32 at worst."""
    global_store_sectors_per_request: Metric
    global_load_efficiency_pct: Metric
    """Bytes used of the bytes in the sectors touched."""
    global_store_efficiency_pct: Metric
    register_spill_instructions: Metric


class WarpFigures(Record):
    """How full and how busy the warps are."""

    warp_efficiency_pct: Metric
    """Threads active in an executed instruction, of 32."""
    branch_divergence_pct: Metric
    """Branches whose threads went different ways."""
    instruction_replay_pct: Metric
    """Instructions issued beyond those executed."""
    achieved_occupancy_pct: Metric
    theoretical_occupancy_pct: Metric
    eligible_warps_per_cycle: Metric
    issue_slots_busy_pct: Metric


class InstructionMix(Record):
    """What was computed, and by which units."""

    tensor_core_utilization_pct: Metric
    tensor_ops: Metric
    """Floating-point (or integer) operations of the tensor cores; a multiply-add is two."""
    fp64_ops: Metric
    fp32_ops: Metric
    fp16_ops: Metric
    int_instructions: Metric
    special_func_ops: Metric
    special_func_utilization_pct: Metric
    load_store_utilization_pct: Metric
    fma_utilization_pct: Metric
    alu_utilization_pct: Metric
    executed_instructions: Metric


class LaunchFigures(Record):
    """How the kernel was launched, and what limits the blocks that fit on a multiprocessor."""

    grid: Dim3
    block: Dim3
    registers_per_thread: Metric
    shared_memory_per_block_bytes: Metric
    waves_per_multiprocessor: Metric
    occupancy_limits_blocks: dict[str, Metric]
    """Blocks a multiprocessor could hold if this resource (registers, shared_memory, ...) were the only one."""
    occupancy_limited_by: tuple[str, ...]
    """The resources with the smallest limit; empty where no limit is known."""


class Stall(Record):
    """Why warps waited: cycles between two instructions of a warp, by reason."""

    reason: str
    cycles_per_instruction: float = Field(ge=0)
    share_pct: float = Field(ge=0)
    """Of all cycles between two instructions of a warp."""
    meaning: str


class KernelProfile(Record):
    """One launch of one kernel."""

    kernel: str
    """The name that the profiler reports: untrusted text, control characters removed."""
    launch_index: int = Field(ge=0)
    duration_us: Metric
    elapsed_cycles: Metric
    bottleneck: Bottleneck
    launch: LaunchFigures
    roofline: Roofline
    memory: MemoryFigures
    warps: WarpFigures
    instructions: InstructionMix
    stalls: tuple[Stall, ...]
    """The longest first."""


class ProfileTotals(Record):
    """All launches of one call together; rates are sums over the summed duration."""

    launches: int = Field(ge=1)
    duration_us: Metric
    elapsed_cycles: Metric
    achieved_tflops: Metric
    arithmetic_intensity_flop_per_byte: Metric
    dram_bandwidth_gb_s: Metric
    longest_kernel: str
    longest_kernel_share_pct: Metric
    bottleneck: Bottleneck
    """The one of the kernel whose launches take the most time."""


class ProfilingReport(StoredRecord):
    """The deep profile of one call on a GPU."""

    tool: Literal["ncu"] = "ncu"
    device_name: str
    total: ProfileTotals
    kernels: tuple[KernelProfile, ...] = Field(min_length=1)
    """The launches that took longest, in the order of the call; `total` counts all."""
    warnings: tuple[str, ...] = ()
    """What the profiler said that bears on the figures: untrusted text, control characters removed."""
    raw_report: Artifact | None = None
    """The profiler's own output, byte for byte, for a look at any of its metrics."""


class CpuProfile(StoredRecord):
    """Hardware counters of a worker on the CPU, all its threads together; wall time where there are none."""

    tool: Literal["perf_event"] = "perf_event"
    wall_ms: Metric
    cpu_ms: Metric
    """Processor time of all threads together."""
    elapsed_cycles: Metric
    instructions: Metric
    instructions_per_cycle: Metric
    cache_misses: Metric


class UnavailableProfile(StoredRecord):
    """No counters, and why."""

    tool: Literal["none"] = "none"
    reason: str
