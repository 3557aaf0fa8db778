"""The figures of one launch, by section."""

from __future__ import annotations

from ....memory.schema import InstructionMix, LaunchFigures, MemoryFigures, Metric, Roofline, WarpFigures
from .figures import (
    DURATION,
    FLOP_FORMULA,
    READ,
    TENSOR,
    WRITTEN,
    RooflinePeaks,
    combined,
    core_ops,
    derived,
    flops_by_dtype,
    has_tensor_counters,
    measured,
    tensor_ops,
    total_flops,
    unavailable,
)
from .ncu_csv import Launch

ACTIVE, ELAPSED = "pct_of_peak_sustained_active", "pct_of_peak_sustained_elapsed"
ACCESS = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
EXECUTED = "smsp__sass_inst_executed_op_global_{}.sum"
SECTOR_BYTES, WARP_THREADS = 32, 32
LIMITS = {"registers": "registers", "shared_memory": "shared_mem", "threads": "warps", "blocks": "blocks",
          "barriers": "barriers"}  # fmt: skip
INTEGER = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"
SPECIAL = "smsp__inst_executed_pipe_xu.sum"
EXTRA_METRICS = (INTEGER, SPECIAL)
"""Counted only when asked for: `--set full` leaves them out."""


def launch_figures(launch: Launch) -> LaunchFigures:
    """Grid, block, and what limits the blocks on a multiprocessor."""
    limits = {name: measured(launch, f"launch__occupancy_limit_{suffix}", "block") for name, suffix in LIMITS.items()}
    known = {name: limit.value for name, limit in limits.items() if limit.value is not None}
    return LaunchFigures(
        grid=launch.grid,
        block=launch.block,
        registers_per_thread=measured(launch, "launch__registers_per_thread", "register"),
        shared_memory_per_block_bytes=measured(launch, "launch__shared_mem_per_block", "byte"),
        waves_per_multiprocessor=measured(launch, "launch__waves_per_multiprocessor", "wave"),
        occupancy_limits_blocks=limits,
        occupancy_limited_by=tuple(name for name, value in known.items() if value == min(known.values())),
    )


def roofline(launch: Launch, peaks: RooflinePeaks) -> Roofline:
    """Arithmetic against the measured peaks; the peak is of the dtype that most operations are in."""
    counts = flops_by_dtype(launch)
    dtype = max(counts, key=lambda name: counts[name])
    flops = total_flops(launch)
    peak = _peak(peaks, dtype if counts[dtype] > 0 else None)
    bandwidth = _bandwidth(peaks)
    achieved = combined(
        "TFLOP/s", f"({FLOP_FORMULA}) / {DURATION}", (flops, measured(launch, DURATION, "s", 1e-9)),
        lambda count, seconds: count / seconds / 1e12,
    )  # fmt: skip
    intensity = combined(
        "FLOP/byte", f"({FLOP_FORMULA}) / ({READ} + {WRITTEN})", (flops, dram_bytes(launch)),
        lambda count, moved: count / moved,
    )  # fmt: skip
    bound = combined(
        "TFLOP/s", "min(peak_tflops, arithmetic_intensity_flop_per_byte * peak_bandwidth_gb_s / 1000)",
        (peak, intensity, bandwidth), lambda top, ratio, gb_s: min(top, ratio * gb_s / 1000),
    )  # fmt: skip
    return Roofline(
        achieved_tflops=achieved,
        peak_tflops=peak,
        arithmetic_intensity_flop_per_byte=intensity,
        bound_tflops=bound,
        bound_share_pct=combined(
            "%", "100 * achieved_tflops / bound_tflops", (achieved, bound), lambda got, top: 100 * got / top
        ),
    )


def _peak(peaks: RooflinePeaks, dtype: str | None) -> Metric:
    if dtype is None:
        return unavailable("TFLOP/s", "the kernel did no floating-point operation that ncu counts")
    if dtype not in peaks.matmul_tflops:
        return unavailable("TFLOP/s", f"no measured matrix product in {dtype}: {peaks.source}")
    source = f"{peaks.source}: matrix product in {dtype}, the dtype of most operations"
    return Metric(kind="measured", value=peaks.matmul_tflops[dtype], unit="TFLOP/s", source=source)


def _bandwidth(peaks: RooflinePeaks) -> Metric:
    if peaks.copy_gb_s is None:
        return unavailable("GB/s", f"no measured copy: {peaks.source}")
    return Metric(kind="measured", value=peaks.copy_gb_s, unit="GB/s", source=f"{peaks.source}: device copy")


def dram_bytes(launch: Launch) -> Metric:
    """Bytes read from and written to DRAM."""
    return derived(launch, "byte", f"{READ} + {WRITTEN}", (READ, WRITTEN), lambda read, written: read + written)


def memory(launch: Launch, peaks: RooflinePeaks) -> MemoryFigures:
    """Hit rates, traffic and access patterns."""
    return MemoryFigures(
        l1_hit_rate_pct=measured(launch, "l1tex__t_sector_hit_rate.pct", "%"),
        l2_hit_rate_pct=measured(launch, "lts__t_sector_hit_rate.pct", "%"),
        dram_bytes=dram_bytes(launch),
        dram_bandwidth_gb_s=derived(
            launch,
            "GB/s",
            f"({READ} + {WRITTEN}) / {DURATION}",
            (READ, WRITTEN, DURATION),
            lambda read, written, ns: (read + written) / ns,
        ),
        peak_bandwidth_gb_s=_bandwidth(peaks),
        dram_throughput_pct=measured(launch, f"gpu__dram_throughput.avg.{ELAPSED}", "%"),
        l2_throughput_pct=measured(launch, f"lts__throughput.avg.{ELAPSED}", "%"),
        l1_throughput_pct=measured(launch, f"l1tex__throughput.avg.{ELAPSED}", "%"),
        shared_mem_bank_conflicts=measured(launch, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "conflict"),
        global_load_sectors_per_request=_sectors_per_request(launch, "ld"),
        global_store_sectors_per_request=_sectors_per_request(launch, "st"),
        global_load_efficiency_pct=_global_efficiency(launch, "ld"),
        global_store_efficiency_pct=_global_efficiency(launch, "st"),
        register_spill_instructions=measured(launch, "sass__inst_executed_register_spilling", "instruction"),
    )


def _sectors_per_request(launch: Launch, access: str) -> Metric:
    names = (ACCESS.format("sectors", access), ACCESS.format("requests", access))
    return derived(launch, "sector/request", " / ".join(names), names, lambda sectors, requests: sectors / requests)


def _global_efficiency(launch: Launch, access: str) -> Metric:
    executed = EXECUTED.format(access)
    if launch.number(executed) == 0:
        # Asynchronous copies (cp.async, TMA) are counted in requests and sectors, but not here.
        return unavailable("%", f"{executed} is 0: no such access, or only asynchronous copies")
    name = PER_SECTOR.format(access)
    return derived(launch, "%", f"100 * {name} / {SECTOR_BYTES}", (name,), lambda used: 100 * used / SECTOR_BYTES)


def warps(launch: Launch) -> WarpFigures:
    """Occupancy, divergence and issue."""
    threads, issued, executed = (
        "smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__inst_issued.sum", "smsp__inst_executed.sum"
    )  # fmt: skip
    return WarpFigures(
        warp_efficiency_pct=derived(
            launch, "%", f"100 * {threads} / {WARP_THREADS}", (threads,), lambda active: 100 * active / WARP_THREADS
        ),
        branch_divergence_pct=_divergence(launch),
        instruction_replay_pct=derived(
            launch,
            "%",
            f"100 * ({issued} - {executed}) / {executed}",
            (issued, executed),
            lambda sent, done: 100 * (sent - done) / done,
        ),
        achieved_occupancy_pct=measured(launch, f"sm__warps_active.avg.{ACTIVE}", "%"),
        theoretical_occupancy_pct=measured(launch, "sm__maximum_warps_per_active_cycle_pct", "%"),
        eligible_warps_per_cycle=measured(launch, "smsp__warps_eligible.avg.per_cycle_active", "warp"),
        issue_slots_busy_pct=measured(launch, f"smsp__issue_active.avg.{ACTIVE}", "%"),
    )


def _divergence(launch: Launch) -> Metric:
    uniform, divergent = (
        "smsp__sass_average_branch_targets_threads_uniform.pct", "smsp__sass_branch_targets_threads_divergent.sum"
    )  # fmt: skip
    if launch.number(uniform) == 0 and launch.number(divergent) == 0:
        # ncu prints 0 % uniform for a kernel whose every condition was compiled to predicates.
        return unavailable("%", f"the kernel took no conditional branch: {uniform} and {divergent} are both 0")
    return derived(launch, "%", f"100 - {uniform}", (uniform,), lambda value: 100 - value)


def instructions(launch: Launch) -> InstructionMix:
    """Operations by dtype and how busy each unit is."""
    pipe = f"sm__inst_executed_pipe_{{}}.avg.{ACTIVE}".format
    return InstructionMix(
        tensor_core_utilization_pct=measured(launch, f"sm__pipe_tensor_cycles_active.avg.{ACTIVE}", "%"),
        tensor_ops=_all_tensor_ops(launch),
        fp64_ops=core_ops(launch, "float64"),
        fp32_ops=core_ops(launch, "float32"),
        fp16_ops=core_ops(launch, "float16"),
        int_instructions=measured(launch, INTEGER, "thread instruction"),
        special_func_ops=measured(launch, SPECIAL, "warp instruction"),
        special_func_utilization_pct=measured(launch, pipe("xu"), "%"),
        load_store_utilization_pct=measured(launch, pipe("lsu"), "%"),
        fma_utilization_pct=measured(launch, pipe("fma"), "%"),
        alu_utilization_pct=measured(launch, pipe("alu"), "%"),
        executed_instructions=measured(launch, "smsp__inst_executed.sum", "warp instruction"),
    )


def _all_tensor_ops(launch: Launch) -> Metric:
    if not has_tensor_counters(launch):
        return unavailable("operation", f"ncu gave no {TENSOR}*.sum: run it with --set full")
    value = sum(tensor_ops(launch).values())
    return Metric(kind="derived", value=value, unit="operation", source=f"sum of {TENSOR}*.sum")
