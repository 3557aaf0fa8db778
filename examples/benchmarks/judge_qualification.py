"""How often the judge calls a difference where there is none, and how often it finds a true one.

Run `python examples/benchmarks/judge_qualification.py`, on a GPU with `--language cuda`; it prints one table. Each line
is a kernel of about 10 us, 100 us or 1 ms, judged whole (verified and timed, with fresh workers) against itself (A/A)
or against a baseline that does a tenth more work. Limits: at most 1 % of A/A called, a true 1.10x called
`faster` in 95 of 100.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import Candidate, Evaluation, Language, MeasuredTiming, Task, Tier, Verdict
from kernelguild.tools.judge.bench import Bench
from kernelguild.tools.judge.judge import Judge
from kernelguild.tools.judge.probe import probe
from kernelguild.tools.judge.request import EvaluationRequest
from kernelguild.tools.tasks import load_task

AA_LIMIT = 0.01
FOUND_LIMIT = 0.95
TASK = """\
schema_version: 1
name: smooth
device: {device}
reference: {{file: reference.py, function: smooth}}
seed_implementation: {{file: seed.txt, language: {language}}}
entry: smooth
symbols: {{n: {{min: 1, max: 100000000}}}}
inputs: [{{name: x, dtype: float32, shape: [n]}}]
outputs: [{{name: y, dtype: float32, shape: [n]}}]
shapes: [{{n: {elements}}}]
"""
# Twenty steps of y = y / 2 + x come within 2 ** -20 of their limit, the two more of the slower one closer still.
REFERENCE = "def smooth(x):\n    return 2 * x\n"
SOURCE = """\
#include <cstdint>
extern "C" int smooth(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
    for (int step = 0; step < STEPS; ++step) {
        asm volatile("" ::: "memory");
        for (int64_t i = 0; i < n; ++i) y[i] = 0.5f * y[i] + x[i];
    }
    return 0;
}
"""
CUDA_SOURCE = """\
/* kernelguild: {steps: [{kernel: smooth, grid: ["cdiv(n, 256)"], block: [256]}]} */
__global__ void smooth(const float* x, float* y, int64_t n) {
    const int64_t i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) return;
    const float value = x[i];
    float result = value;
    for (int step = 0; step < STEPS; ++step) result = fmaf(0.5f, result, value);
    y[i] = result;
}
"""


@dataclass(frozen=True)
class Form:
    """The kernels of one language."""

    language: Language
    device: str
    source: str
    sizes: dict[str, tuple[int, int]]
    """Elements and steps of each kernel; the baseline of a true 1.10x takes a tenth more steps."""

    def text(self, steps: int) -> str:
        return self.source.replace("STEPS", str(steps))

    def write_task(self, folder: Path, kernel: str, steps: int) -> Task:
        """The task with a baseline of so many steps."""
        folder.mkdir()
        (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
        (folder / "seed.txt").write_text(self.text(steps), encoding="utf-8")
        task = TASK.format(elements=self.sizes[kernel][0], language=self.language.value, device=self.device)
        (folder / "task.yaml").write_text(task, encoding="utf-8")
        return load_task(folder / "task.yaml")


KERNELS = ("10us", "100us", "1ms")
CPP_SIZES = ((7000, 20), (52_000, 20), (450_000, 20))
CUDA_SIZES = ((1 << 20, 260), (1 << 20, 2600), (1 << 20, 26_000))
FORMS = {
    "cpp": Form(Language.CPP, "cpu", SOURCE, dict(zip(KERNELS, CPP_SIZES, strict=True))),
    "cuda": Form(Language.CUDA, "cuda", CUDA_SOURCE, dict(zip(KERNELS, CUDA_SIZES, strict=True))),
}


@dataclass
class Line:
    """One line of the table."""

    kernel: str
    kind: str
    task: Task
    expected: Verdict
    evaluations: list[Evaluation] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def share(self, *verdicts: Verdict) -> float:
        return sum(evaluation.verdict in verdicts for evaluation in self.evaluations) / len(self.evaluations)

    def text(self) -> str:
        """The line, with `ok` or what is missed."""
        timings = [evaluation.timing for evaluation in self.evaluations]
        measured = [timing for timing in timings if isinstance(timing, MeasuredTiming)]
        pairs = [e.shapes[0].timing.pairs for e in self.evaluations if e.shapes and e.shapes[0].timing]
        if self.kind == "A/A":
            called = self.share(Verdict.FASTER, Verdict.SLOWER, Verdict.SUSPECT)
            met = called <= AA_LIMIT
        else:
            called = self.share(self.expected)
            met = called >= FOUND_LIMIT
        return (
            f"{self.kernel:6} {self.kind:6} {len(self.evaluations):8} {called:8.2%} "
            f"{1e3 * statistics.median(timing.candidate_ms for timing in measured):10.1f} "
            f"{statistics.median(timing.speedup for timing in measured):8.3f} "
            f"{statistics.median(pairs):6.0f} {max(pairs):4} {statistics.median(self.seconds):8.2f} "
            f"{max(self.seconds):6.2f}  {'ok' if met else 'MISSED'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aa", type=int, default=400, help="A/A verdicts of each kernel")
    parser.add_argument("--found", type=int, default=100, help="verdicts on a true 1.10x of each kernel")
    parser.add_argument("--kernels", nargs="+", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--language", choices=list(FORMS), default="cpp")
    given = parser.parse_args()
    form = FORMS[given.language]
    print("kernel kind   verdicts   called   time, us  speedup  pairs  max  seconds    max")
    with tempfile.TemporaryDirectory() as folder, Bench(probe()) as bench:
        judge = Judge(bench, SystemClock())
        for kernel in given.kernels:
            own = form.sizes[kernel][1]
            for kind, count, steps in (("A/A", given.aa, own), ("1.10x", given.found, own * 11 // 10)):
                if count == 0:
                    continue
                task = form.write_task(Path(folder) / f"{kernel}-{steps}", kernel, steps)
                line = Line(kernel, kind, task, Verdict.FASTER)
                for _ in range(count):
                    measure(judge, form.language, form.text(own), line)
                print(line.text(), flush=True)
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()))


def measure(judge: Judge, language: Language, source: str, line: Line) -> None:
    """One whole verdict; its library is compiled once for all."""
    candidate = Candidate(language=language, source=source)
    request = EvaluationRequest(task=line.task, candidate=candidate, tier=Tier.PROFILE)
    start_s = time.perf_counter()
    evaluation = judge.evaluate(request, lambda progress: None).evaluation
    line.seconds.append(time.perf_counter() - start_s)
    if not isinstance(evaluation.timing, MeasuredTiming):
        raise SystemExit(f"{line.kernel} {line.kind}: {evaluation.status.value}: {evaluation.message}")
    line.evaluations.append(evaluation)


if __name__ == "__main__":
    main()
