"""The judge's times of CUDA kernels against ncu's `gpu__time_duration`: same inputs, cold caches, taken in turn.

Run on a machine with a GPU and Nsight Compute: `python examples/benchmarks/ncu_agreement.py`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pynvml

from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import Candidate, Evaluation, Language, MeasuredTiming, ProfilingReport, Task, Tier
from kernelguild.tools.judge.bench import Bench
from kernelguild.tools.judge.judge import Judge
from kernelguild.tools.judge.probe import probe
from kernelguild.tools.judge.request import EvaluationRequest
from kernelguild.tools.tasks import load_task

TASK = """\
schema_version: 1
name: {name}
device: cuda
reference: {{file: reference.py, function: f}}
seed_implementation: {{file: seed.cu, language: cuda}}
symbols: {{n: {{min: 1, max: {n}}}}}
inputs: [{{name: x, dtype: float32, shape: [n]}}]
outputs: [{{name: y, dtype: float32, shape: [n]}}]
shapes: [{{n: {n}}}]
"""
ELEMENTWISE = """\
/* kernelguild: {{steps: [{{kernel: f, grid: ["min(cdiv(n, 256), 16 * device.sm_count)"], block: [256]}}]}} */
__global__ void f(const float* x, float* y, int64_t n) {{
    for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {{
        float value = x[i];
        for (int turn = 0; turn < {turns}; ++turn) value = fmaf(value, 0.999f, 0.001f);
        y[i] = value;
    }}
}}
"""
REFERENCE = "def f(x):\n    for _ in range({turns}):\n        x = x * 0.999 + 0.001\n    return x\n"


@dataclass(frozen=True)
class Case:
    """One kernel: elements and how much is computed for each."""

    n: int
    turns: int

    @property
    def name(self) -> str:
        return f"n{self.n}_turns{self.turns}"


CASES = (
    Case(1 << 22, 1), Case(1 << 23, 1), Case(1 << 22, 400), Case(1 << 24, 1), Case(1 << 24, 200), Case(1 << 25, 1),
    Case(1 << 24, 600), Case(1 << 26, 1), Case(1 << 26, 100), Case(1 << 27, 1), Case(1 << 26, 400), Case(1 << 28, 1),
)  # fmt: skip


def task_of(case: Case, folder: Path) -> Task:
    """A task whose seed is the kernel."""
    folder.mkdir()
    (folder / "reference.py").write_text(REFERENCE.format(turns=case.turns), encoding="utf-8")
    (folder / "seed.cu").write_text(ELEMENTWISE.format(turns=case.turns), encoding="utf-8")
    (folder / "task.yaml").write_text(TASK.format(name=case.name, n=case.n), encoding="utf-8")
    return load_task(folder)


def measure(judge: Judge, task: Task, turn: int) -> tuple[float, float]:
    """(the judge's, ncu's) time of the seed in ms, from one deep evaluation."""
    # A comment makes it another candidate than the seed, so that nothing is shared with the baseline.
    candidate = Candidate(language=Language.CUDA, source=f"{task.seed.source}// {turn}\n")
    request = EvaluationRequest(task=task, candidate=candidate, tier=Tier.DEEP)
    evaluation = judge.evaluate(request, lambda progress: None).evaluation
    return judged_ms(evaluation), profiled_ms(evaluation)


def judged_ms(evaluation: Evaluation) -> float:
    if not isinstance(evaluation.timing, MeasuredTiming):
        raise SystemExit(f"{evaluation.task_name}: not timed: {evaluation.message}")
    return evaluation.timing.candidate_ms


def profiled_ms(evaluation: Evaluation) -> float:
    if not isinstance(evaluation.profile, ProfilingReport) or evaluation.profile.total.duration_us.value is None:
        raise SystemExit(f"{evaluation.task_name}: not profiled: {evaluation.profile}")
    return evaluation.profile.total.duration_us.value / 1e3


def clocks() -> str:
    """The GPU's clock and why it is held back, as the driver says now."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    megahertz = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    reasons = pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    return f"{megahertz} MHz, clock event reasons {reasons:#x}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="how often each kernel is measured by both in turn")
    arguments = parser.parse_args()
    deviations: dict[str, float] = {}
    print(f"{'kernel':<24}{'judge us':>10}{'ncu us':>10}{'deviation':>11}  clocks")
    with tempfile.TemporaryDirectory() as folder, Bench(probe()) as bench:
        judge = Judge(bench, SystemClock())
        for case in CASES:
            task = task_of(case, Path(folder) / case.name)
            pairs = [measure(judge, task, turn) for turn in range(arguments.turns)]
            ours, theirs = (1e3 * statistics.median(side) for side in zip(*pairs, strict=True))
            deviations[case.name] = ours / theirs - 1
            print(f"{case.name:<24}{ours:>10.2f}{theirs:>10.2f}{100 * (ours / theirs - 1):>10.1f}%  {clocks()}")
            if theirs < 100:
                deviations.pop(case.name)
    shares = [abs(value) for value in deviations.values()]
    print(f"from 100 us on: median {100 * statistics.median(shares):.1f} %, largest {100 * max(shares):.1f} %")


if __name__ == "__main__":
    main()
