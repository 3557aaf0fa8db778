"""Speed: several fresh pairs of workers, all timed shapes in each, one ratio with an interval."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ...memory.expressions import parse
from ...memory.schema import MeasuredTiming, ShapeTiming, Task
from .bench import Bench, Program
from .machine_lock import timing_lock
from .pair import Pair, PairPlan, PairTimes
from .place import Place
from .problem import Problem, Shape
from .statistics import Ratio, ratio_over_pairs
from .trial import without_collection

PAIRS = 8
MAX_SAMPLES = 10
MIN_SAMPLES = 3
MIN_PAIRS = 3
TIME_BUDGET_S = 8.0
TIME_LIMIT_S = 60.0


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    pairs: int
    samples: int
    """Of each side, in each pair."""


def effort_for(sample_cost_s: float) -> Effort:
    """Eight pairs of ten samples where they are cheap; what is dear gets fewer, down to three of three.

    Nobody else on the machine can measure meanwhile, and a candidate may be slow on purpose.
    """
    samples = max(MIN_SAMPLES, min(MAX_SAMPLES, int(TIME_BUDGET_S / PAIRS / sample_cost_s)))
    pairs = max(MIN_PAIRS, min(PAIRS, int(TIME_LIMIT_S / samples / sample_cost_s)))
    return Effort(pairs, samples)


@dataclass
class Timer:
    """Times programs of one task."""

    bench: Bench
    task: Task
    problem: Problem
    place: Place
    generator: torch.Generator
    device_instance: str

    def time(
        self,
        shapes: list[Shape],
        candidate: Program,
        baseline: Program,
        reference: Program,
        report: Callable[[int, int], None],
    ) -> tuple[MeasuredTiming, list[ShapeTiming]]:
        """Measure, while nobody else on this machine does.

        Raises:
            CandidateFailure: a timed call failed or gave a wrong output.
            ConfigError: the baseline did.
        """
        cpu = self._cpu()
        events = candidate.device_code is not None
        with timing_lock(self.device_instance), without_collection(), _pinned(cpu):
            plan = PairPlan(self.bench, self.task, self.problem, self.place, self.generator, events, cpu)
            effort = self._effort(plan, shapes, candidate, baseline)
            pairs = []
            for number in range(effort.pairs):
                pairs.append(_measure(plan, shapes, candidate, baseline, effort.samples, number))
                report(number + 1, effort.pairs)
            beside = None if reference is baseline else _measure(plan, shapes, reference, baseline, effort.samples)
        per_shape = [self._shape_timing(shape, [pair[n] for pair in pairs]) for n, shape in enumerate(shapes)]
        ratio = ratio_over_pairs([statistics.fmean(times.log_ratio for times in pair) for pair in pairs])
        return _summary(per_shape, ratio, beside, events=events), per_shape

    def _effort(self, plan: PairPlan, shapes: list[Shape], candidate: Program, baseline: Program) -> Effort:
        """What fits the budgets; one rehearsal says what a sample costs."""
        start = time.perf_counter()
        _measure(plan, shapes, candidate, baseline, 1)
        # One sample, the one on other data, and the start of the workers.
        return effort_for((time.perf_counter() - start) / 3)

    def _shape_timing(self, shape: Shape, pairs: list[PairTimes]) -> ShapeTiming:
        ratio = ratio_over_pairs([pair.log_ratio for pair in pairs])
        candidate_s = statistics.median(sample for pair in pairs for sample in pair.candidate_s)
        return ShapeTiming(
            candidate_ms=candidate_s * 1e3,
            baseline_ms=1e3 * statistics.median(sample for pair in pairs for sample in pair.baseline_s),
            time_ratio=ratio.value,
            ratio_low=ratio.low,
            ratio_high=ratio.high,
            pairs=len(pairs),
            samples=sum(len(pair.candidate_s) for pair in pairs),
            overhead_ms=1e3 * statistics.median(pair.overhead_s for pair in pairs),
            achieved_gb_s=_rate(self.task.traffic_bytes, shape, candidate_s),
            achieved_gflop_s=_rate(self.task.flops, shape, candidate_s),
        )

    def _cpu(self) -> int | None:
        """Judge and worker share one core: measured, that is what keeps A/A quiet on few cores."""
        return max(os.sched_getaffinity(0)) if self.task.constraints.threads == 1 else None


def _measure(
    plan: PairPlan, shapes: list[Shape], candidate: Program, baseline: Program, samples: int, number: int = 0
) -> list[PairTimes]:
    """One fresh pair through all shapes."""
    with Pair(plan, candidate, baseline, shapes, number) as pair:
        return [pair.measure(shape, samples) for shape in shapes]


def _summary(
    per_shape: list[ShapeTiming], ratio: Ratio, beside: list[PairTimes] | None, *, events: bool
) -> MeasuredTiming:
    """All shapes together: geometric means. `beside` is the pair in which torch's own reference was timed."""
    baseline_ms = statistics.geometric_mean(entry.baseline_ms for entry in per_shape)
    reference_ms = baseline_ms
    if beside is not None:
        reference_ms = 1e3 * statistics.geometric_mean(statistics.median(times.candidate_s) for times in beside)
    return MeasuredTiming(
        method="device_events_interleaved" if events else "wall_clock_interleaved",
        candidate_ms=statistics.geometric_mean(entry.candidate_ms for entry in per_shape),
        baseline_ms=baseline_ms,
        time_ratio=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        reference_ms=reference_ms,
    )


@contextmanager
def _pinned(cpu: int | None) -> Iterator[None]:
    """Hold the judge's thread on a core for a while; None leaves it free."""
    before = os.sched_getaffinity(0)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _rate(expression: str | None, shape: Shape, seconds: float) -> float | None:
    """Billions a second of what the task declares."""
    return None if expression is None else parse(expression).evaluate(shape.symbols) / seconds / 1e9
