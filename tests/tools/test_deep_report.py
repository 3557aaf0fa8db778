"""Reports on real launches, with figures worked by hand from their cells."""

from __future__ import annotations

import dataclasses

import pytest

from kernelguild.memory.schema import KernelProfile, Metric, ProfilingReport
from kernelguild.tools.judge.deep.figures import RooflinePeaks
from kernelguild.tools.judge.deep.ncu_csv import Launch, NcuReport, RawMetric, parse
from kernelguild.tools.judge.deep.report import DESCRIBED, elapsed_cycles, report_of
from profiles import copy, matmuls, naive_gemm

PEAKS = RooflinePeaks(
    "measured copy and matrix products", 4300.0,
    {"float32": 51.0, "float16": 677.0, "bfloat16": 670.0, "tfloat32": 350.0, "float64": 60.0},
)  # fmt: skip


@pytest.fixture(scope="module")
def naive() -> ProfilingReport:
    return report_of(parse(naive_gemm()), PEAKS)


@pytest.fixture(scope="module")
def kernel(naive: ProfilingReport) -> KernelProfile:
    return naive.kernels[0]


def with_cells(raw: bytes, cells: dict[str, float | None]) -> NcuReport:
    """The real report's first launch, with some cells set otherwise."""
    launch = parse(raw).launches[0]
    changed = {name: RawMetric(value, launch.metrics[name].unit, str(value)) for name, value in cells.items()}
    return NcuReport((dataclasses.replace(launch, metrics={**launch.metrics, **changed}),), ())


def test_the_roofline_of_the_naive_product(kernel: KernelProfile) -> None:
    roof = kernel.roofline
    # ffma 2,185.90 a cycle, 2 FLOP each, and hfma 2.13 a cycle, 4 each, over 491,213.64 cycles in 248,736 ns:
    # (4,371.80 + 8.52) * 491,213.64 / 248.736e-6 s = 8.6504e12 (the product's own 2 * 1024^3 are 8.6335e12).
    assert roof.achieved_tflops.value == pytest.approx(8.6504, rel=1e-4)
    assert roof.achieved_tflops.value == pytest.approx(2 * 1024**3 / 248.736e-6 / 1e12, rel=3e-3)
    # 4,380.32 * 491,213.64 FLOP over 4,198,656 + 0 bytes.
    assert roof.arithmetic_intensity_flop_per_byte.value == pytest.approx(512.467, rel=1e-5)
    assert roof.peak_tflops.value == 51.0
    # min(51, 512.467 * 4300 / 1000 = 2203.6)
    assert roof.bound_tflops.value == 51.0
    assert roof.bound_share_pct.value == pytest.approx(100 * 8.6504 / 51, rel=1e-4)


def test_the_memory_figures_of_the_naive_product(kernel: KernelProfile) -> None:
    memory = kernel.memory
    assert (memory.l1_hit_rate_pct.value, memory.l2_hit_rate_pct.value) == (2.14, 98.48)
    assert memory.dram_bytes.value == 4_198_656
    # 4,198,656 bytes in 248,736 ns; ncu's own dram__bytes_read.sum.per_second is 16,879,969,123.89.
    assert memory.dram_bandwidth_gb_s.value == pytest.approx(16.87996912389, rel=1e-12)
    assert memory.peak_bandwidth_gb_s.value == 4300.0
    assert memory.dram_throughput_pct.value == 0.35
    assert memory.l2_throughput_pct.value == 18.64
    assert memory.l1_throughput_pct.value == 86.15
    assert memory.shared_mem_bank_conflicts.value == 148_370
    # 8,388,608 sectors of 4,194,304 requests, and 65,536 of 32,768.
    assert memory.global_load_sectors_per_request.value == 2
    assert memory.global_store_sectors_per_request.value == 2
    # 32 of 32 bytes a sector.
    assert memory.global_load_efficiency_pct.value == 100
    assert memory.register_spill_instructions.value == 0


def test_the_warps_and_the_instructions_of_the_naive_product(kernel: KernelProfile) -> None:
    warps, mix = kernel.warps, kernel.instructions
    assert warps.warp_efficiency_pct.value == 100
    assert warps.branch_divergence_pct.value == 0
    # (171,090,233 issued - 171,081,728 executed) / 171,081,728.
    assert warps.instruction_replay_pct.value == pytest.approx(100 * 8505 / 171_081_728)
    assert (warps.achieved_occupancy_pct.value, warps.theoretical_occupancy_pct.value) == (91.31, 100)
    assert warps.issue_slots_busy_pct.value == 67.98
    assert mix.tensor_core_utilization_pct.value == 0.03
    assert mix.tensor_ops.value == 0
    # 2 * 2,185.90 * 491,213.64; the product does 2 * 1024^3 = 2,147,483,648 of them.
    assert mix.fp32_ops.value == pytest.approx(2_147_487_791.35, rel=1e-9)
    # 4 * 2.13 * 491,213.64; the two half-to-float conversions of each product (hadd) are no arithmetic.
    assert mix.fp16_ops.value == pytest.approx(4_185_140.2, rel=1e-6)
    assert mix.executed_instructions.value == 171_081_728
    assert mix.load_store_utilization_pct.value == 80.05


def test_the_launch_of_the_naive_product(kernel: KernelProfile) -> None:
    launch = kernel.launch
    assert (launch.grid, launch.block) == ((64, 64, 1), (16, 16, 1))
    assert launch.registers_per_thread.value == 31
    assert launch.shared_memory_per_block_bytes.value == 2048
    assert launch.waves_per_multiprocessor.value == 3.88
    limits = {name: limit.value for name, limit in launch.occupancy_limits_blocks.items()}
    assert limits == {"registers": 8, "shared_memory": 16, "threads": 8, "blocks": 32, "barriers": 32}
    assert launch.occupancy_limited_by == ("registers", "threads")
    assert kernel.duration_us.value == pytest.approx(248.736)
    assert kernel.elapsed_cycles.value == 491_949


def test_the_stalls_of_the_naive_product(kernel: KernelProfile) -> None:
    # Of 21.52 cycles between two instructions, all reasons' sum.
    assert [(stall.reason, stall.cycles_per_instruction) for stall in kernel.stalls] == [
        ("not_selected", 4.42), ("mio_throttle", 4.39), ("long_scoreboard", 4.21), ("barrier", 3.74), ("wait", 1.34),
        ("math_pipe_throttle", 0.99),
    ]  # fmt: skip
    assert kernel.stalls[0].share_pct == pytest.approx(100 * 4.42 / 21.52)


def test_the_bottleneck_states_the_figures_it_rests_on(kernel: KernelProfile) -> None:
    assert kernel.bottleneck.kind == "memory"
    reasons = " ".join(kernel.bottleneck.reasons)
    assert "compute unit runs at 77.8 % of its peak, the busiest memory unit at 86.2 %" in reasons
    assert "the busiest memory unit is in L1 and shared memory" in reasons
    # The ridge is 51e12 / 4300e9 = 11.86 FLOP/byte.
    assert "512 FLOP/byte against a ridge of 11.9 is above the ridge" in reasons
    assert "the queue of shared-memory and special instructions is full" in reasons


def test_tensor_operations_are_counted_by_type_and_set_against_that_types_peak() -> None:
    half, brain, single, double, tensor32 = report_of(parse(matmuls()), PEAKS).kernels
    for kernel in (half, brain, double, tensor32):
        assert kernel.instructions.tensor_ops.value == 2 * 1024**3
    assert single.instructions.tensor_ops.value == 0
    peaks = [kernel.roofline.peak_tflops.value for kernel in (half, brain, single, double, tensor32)]
    assert peaks == [677.0, 670.0, 51.0, 60.0, 350.0]
    # 2 * 1024^3 in 7,072 ns.
    assert half.roofline.achieved_tflops.value == pytest.approx(303.66, rel=1e-4)
    # 9,194.40 ffma a cycle over 116,896.14 cycles in 59,616 ns; the product alone is 36.02.
    assert single.roofline.achieved_tflops.value == pytest.approx(36.06, rel=1e-3)


def test_each_class_of_bottleneck_is_told_by_the_two_peaks() -> None:
    kinds = [kernel.bottleneck.kind for kernel in report_of(parse(matmuls())).kernels]
    # compute / memory: 30.51 / 32.01, 30.99 / 32.52, 67.25 / 58.44, 78.50 / 42.99 and 29.73 / 43.57 %.
    assert kinds == ["latency", "latency", "compute", "compute", "latency"]
    idle = report_of(parse(matmuls())).kernels[0].bottleneck.reasons
    assert "128 blocks fill 0.97 of one wave: multiprocessors stand idle" in idle


def test_a_copy_is_bound_by_dram() -> None:
    kernel = report_of(parse(copy()), PEAKS).kernels[0]
    # 513,073,664 bytes in 124,000 ns; 2 * 256 MiB would be 536,870,912, a part of which stays in L2.
    assert kernel.memory.dram_bandwidth_gb_s.value == pytest.approx(4137.69, rel=1e-6)
    assert kernel.bottleneck.kind == "memory"
    reasons = " ".join(kernel.bottleneck.reasons)
    assert "DRAM moves 4138 GB/s, 96.2 % of the 4300 GB/s of a measured copy" in reasons
    # L2 is at 92.2 %, but the busiest unit's 86.01 % are those of DRAM.
    assert "the busiest memory unit is in DRAM" in reasons
    # 32 lanes of 16 bytes are 16 sectors of 32 bytes.
    assert kernel.memory.global_load_sectors_per_request.value == 16
    assert kernel.roofline.achieved_tflops.value == 0
    assert "no floating-point operation" in kernel.roofline.peak_tflops.source


def test_metrics_that_must_be_asked_for_are_figures_where_they_were() -> None:
    mix = report_of(parse(copy())).kernels[0].instructions
    assert (mix.int_instructions.value, mix.special_func_ops.value) == (134_217_728, 0)


def test_the_total_goes_by_duration() -> None:
    total = report_of(parse(matmuls()), PEAKS).total
    assert total.launches == 5
    # 7.072 + 7.040 + 59.616 + 41.568 + 14.656 us; 13,095 + 12,892 + 117,338 + 81,586 + 26,875 cycles.
    assert total.duration_us.value == pytest.approx(129.952)
    assert total.elapsed_cycles.value == 251_786
    assert total.longest_kernel.startswith("sm80_xmma_gemm_f32f32")
    assert total.longest_kernel_share_pct.value == pytest.approx(100 * 59.616 / 129.952)
    assert total.bottleneck.kind == "compute"
    # Five products of about 2 * 1024^3 FLOP in 129.952 us.
    assert total.achieved_tflops.value == pytest.approx(5 * 2 * 1024**3 / 129.952e-6 / 1e12, rel=2e-3)


def test_the_objective_of_elapsed_cycles_is_the_sum_over_the_launches(naive: ProfilingReport) -> None:
    cycles = elapsed_cycles(naive)
    assert (cycles.value, cycles.unit, cycles.source) == (491_949, "cycle", "sm__cycles_elapsed.max")


def test_every_figure_says_where_it_comes_from(kernel: KernelProfile) -> None:
    metrics = {
        f"{section}.{name}": metric
        for section in ("launch", "roofline", "memory", "warps", "instructions")
        for name, metric in getattr(kernel, section)
        if isinstance(metric, Metric)
    }
    assert all(metric.source for metric in metrics.values())
    assert metrics["memory.l2_hit_rate_pct"].kind == "measured"
    assert metrics["memory.l2_hit_rate_pct"].source == "lts__t_sector_hit_rate.pct"
    assert metrics["memory.dram_bandwidth_gb_s"].kind == "derived"
    assert metrics["memory.dram_bandwidth_gb_s"].source == (
        "(dram__bytes_read.sum + dram__bytes_write.sum) / gpu__time_duration.sum"
    )
    # What `--set full` alone does not count.
    missing = [name for name, metric in metrics.items() if metric.kind == "unavailable"]
    assert missing == ["instructions.int_instructions", "instructions.special_func_ops"]
    assert "smsp__sass_thread_inst_executed_op_integer_pred_on.sum" in metrics["instructions.int_instructions"].source


def test_without_measured_peaks_only_what_needs_them_is_unavailable() -> None:
    roof = report_of(parse(naive_gemm())).kernels[0].roofline
    assert roof.achieved_tflops.value is not None
    for metric in (roof.peak_tflops, roof.bound_tflops, roof.bound_share_pct):
        assert metric.kind == "unavailable"
        assert "no peaks were measured on this device" in metric.source


def test_a_kernel_without_any_branch_has_no_divergence() -> None:
    # ncu printed both as 0 for a kernel whose conditions were all predicates.
    report = report_of(with_cells(naive_gemm(), {"smsp__sass_average_branch_targets_threads_uniform.pct": 0.0}))
    divergence = report.kernels[0].warps.branch_divergence_pct
    assert divergence.kind == "unavailable"
    assert "no conditional branch" in divergence.source


def test_asynchronous_copies_have_no_load_efficiency() -> None:
    # The library's fp32 product loads by cp.async: requests are counted, bytes a sector are printed as 0.
    single = report_of(parse(matmuls())).kernels[2]
    assert single.memory.global_load_sectors_per_request.value == 4
    assert single.memory.global_load_efficiency_pct.kind == "unavailable"
    assert "asynchronous copies" in single.memory.global_load_efficiency_pct.source


def test_data_that_comes_from_caches_alone_has_no_arithmetic_intensity() -> None:
    report = report_of(with_cells(naive_gemm(), {"dram__bytes_read.sum": 0.0}), PEAKS)
    assert report.kernels[0].roofline.arithmetic_intensity_flop_per_byte.kind == "unavailable"
    assert report.kernels[0].roofline.bound_tflops.kind == "unavailable"


def test_a_launch_without_metrics_is_all_unavailable_and_says_what_to_ask_for() -> None:
    bare = Launch(0, 1, "bare", (1, 1, 1), (1, 1, 1), "9.0", {})
    kernel = report_of(NcuReport((bare,), ())).kernels[0]
    assert kernel.duration_us.kind == "unavailable"
    assert kernel.bottleneck.kind == "unavailable"
    assert "--set full" in kernel.bottleneck.reasons[0]
    assert kernel.stalls == ()


def test_of_many_launches_the_longest_are_described_and_all_are_counted() -> None:
    launch = parse(naive_gemm()).launches[0]
    many = tuple(
        dataclasses.replace(
            launch, index=at, metrics={**launch.metrics, "gpu__time_duration.sum": RawMetric(1000.0 + at, "ns", "")}
        )
        for at in range(DESCRIBED + 5)
    )
    report = report_of(NcuReport(many, ()))
    assert [kernel.launch_index for kernel in report.kernels] == list(range(5, DESCRIBED + 5))
    assert report.total.launches == DESCRIBED + 5
    assert report.total.duration_us.value == pytest.approx(sum(1.0 + at / 1000 for at in range(DESCRIBED + 5)))


def test_a_report_survives_its_own_json(naive: ProfilingReport) -> None:
    assert ProfilingReport.model_validate_json(naive.model_dump_json()) == naive
