"""Speed: candidate and baseline interleaved in several fresh pairs of workers, every timed output checked."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import torch

from ...memory.errors import ConfigError
from ...memory.expressions import parse
from ...memory.schema import MeasuredTiming, ShapeTiming, Task
from .arena import Arena, required_bytes
from .bench import Bench, Program
from .cases import DECLARED
from .failure import CandidateFailure
from .machine_lock import timing_lock
from .problem import Parameters, Problem, Shape
from .statistics import Ratio, ratio_over_pairs
from .trial import CallLimits, Trial, without_collection
from .worker import Worker

PAIRS = 8
MAX_SAMPLES = 10
MIN_SAMPLES = 3
TIME_BUDGET_S = 8.0
EMPTY_CALLS = 30
# A call that vanishes in the handshake's noise is not zero.
SMALLEST_SHARE = 0.02


@dataclass
class Samples:
    """What was seen at one shape, over all pairs."""

    candidate_s: list[float] = field(default_factory=list)
    baseline_s: list[float] = field(default_factory=list)
    log_ratios: list[float] = field(default_factory=list)
    """The median over the samples of each pair."""
    overhead_s: float = 0.0


@dataclass
class Timer:
    """Times programs of one task."""

    bench: Bench
    task: Task
    problem: Problem
    generator: torch.Generator
    device_instance: str

    def time(
        self, candidate: Program, baseline: Program, reference: Program, report: Callable[[int, int], None]
    ) -> tuple[MeasuredTiming, list[ShapeTiming]]:
        """Measure, while nobody else on this machine does.

        Raises:
            CandidateFailure: a timed call failed or gave a wrong output.
            ConfigError: the baseline did.
        """
        shapes = [shape for shape in self.problem.shapes(self.generator) if not shape.hidden]
        samples = [Samples() for _ in shapes]
        pair_ratios = []
        with timing_lock(self.device_instance), without_collection(), _Pinned(self._cpu()):
            for shape, seen in zip(shapes, samples, strict=True):
                seen.overhead_s = self._empty_call_s(shape)
            count = self._sample_count(shapes, candidate, baseline)
            for pair in range(PAIRS):
                self._pair(candidate, baseline, shapes, samples, count)
                pair_ratios.append(statistics.fmean(seen.log_ratios[-1] for seen in samples))
                report(pair + 1, PAIRS)
            beside = samples if reference is baseline else self._beside(reference, shapes, count)
        reference_ms = 1e3 * statistics.geometric_mean(statistics.median(seen.baseline_s) for seen in beside)
        return self._summary(shapes, samples, ratio_over_pairs(pair_ratios), reference_ms)

    def _pair(
        self, candidate: Program, baseline: Program, shapes: list[Shape], samples: list[Samples], count: int
    ) -> None:
        """One fresh worker of each side with the same call history."""
        size = max(required_bytes(self.problem.signature(shape).tensors) for shape in shapes)
        with ExitStack() as stack:
            sides = {}
            for name, program in (("candidate", candidate), ("baseline", baseline)):
                arena = stack.enter_context(Arena(size))
                sides[name] = (stack.enter_context(self._started(name, program, arena)), arena)
            for shape, seen in zip(shapes, samples, strict=True):
                parameters = self.problem.draw_parameters(self.generator)
                trials = {
                    name: Trial(worker, arena, self.problem.signature(shape), shape, parameters, self._limits())
                    for name, (worker, arena) in sides.items()
                }
                self._sample(trials, shape, parameters, seen, count)

    def _sample(
        self, trials: dict[str, Trial], shape: Shape, parameters: Parameters, seen: Samples, count: int
    ) -> None:
        logs = []
        for number in range(count + 1):
            times = self._both(trials, shape, parameters)
            if number == 0:  # the first call of a worker pays for pages and caches
                continue
            candidate_s, baseline_s = (_net(times[name], seen.overhead_s) for name in ("candidate", "baseline"))
            seen.candidate_s.append(candidate_s)
            seen.baseline_s.append(baseline_s)
            logs.append(math.log(candidate_s / baseline_s))
        seen.log_ratios.append(statistics.median(logs))

    def _both(self, trials: dict[str, Trial], shape: Shape, parameters: Parameters) -> dict[str, float]:
        """The same fresh input through both sides, in random order, both outputs checked."""
        drawn = self.problem.draw(shape, DECLARED, parameters, self.generator)
        order = list(trials)
        if bool(torch.randint(2, (1,), generator=self.generator)):
            order.reverse()
        times = {}
        for name in order:
            try:
                times[name] = trials[name].run(drawn, DECLARED)
                trials[name].check(drawn, DECLARED, self.task.tolerance)
            except CandidateFailure as failure:
                raise _blame(name, self.task, failure) from None
        return times

    def _started(self, name: str, program: Program, arena: Arena) -> Worker:
        try:
            return self.bench.start(program, arena, cpu=self._cpu())
        except CandidateFailure as failure:
            raise _blame(name, self.task, failure) from None

    def _sample_count(self, shapes: list[Shape], candidate: Program, baseline: Program) -> int:
        """As many samples a pair as fit the time budget; one rehearsal says what a sample costs."""
        rehearsal = [Samples() for _ in shapes]
        start = time.perf_counter()
        self._pair(candidate, baseline, shapes, rehearsal, 1)
        cost_s = (time.perf_counter() - start) / 2
        return max(MIN_SAMPLES, min(MAX_SAMPLES, int(TIME_BUDGET_S / PAIRS / cost_s)))

    def _empty_call_s(self, shape: Shape) -> float:
        """What a call costs by itself: reveal, handshake and taking the output, with a worker that does nothing."""
        signature = self.problem.signature(shape)
        parameters = self.problem.draw_parameters(self.generator)
        with (
            Arena(required_bytes(signature.tensors)) as arena,
            self.bench.start_empty(arena, cpu=self._cpu()) as worker,
        ):
            trial = Trial(worker, arena, signature, shape, parameters, self._limits())
            drawn = self.problem.draw(shape, DECLARED, parameters, self.generator)
            return statistics.median(trial.run(drawn, DECLARED) for _ in range(EMPTY_CALLS))

    def _beside(self, reference: Program, shapes: list[Shape], count: int) -> list[Samples]:
        """torch's own time for the same work, for context: one pair of workers, measured as all others are."""
        seen = [Samples() for _ in shapes]
        for shape, samples in zip(shapes, seen, strict=True):
            samples.overhead_s = self._empty_call_s(shape)
        self._pair(reference, reference, shapes, seen, count)
        return seen

    def _summary(
        self, shapes: list[Shape], samples: list[Samples], ratio: Ratio, reference_ms: float
    ) -> tuple[MeasuredTiming, list[ShapeTiming]]:
        per_shape = [self._shape_timing(shape, seen) for shape, seen in zip(shapes, samples, strict=True)]
        timing = MeasuredTiming(
            candidate_ms=statistics.geometric_mean(entry.candidate_ms for entry in per_shape),
            baseline_ms=statistics.geometric_mean(entry.baseline_ms for entry in per_shape),
            time_ratio=ratio.value,
            ratio_low=ratio.low,
            ratio_high=ratio.high,
            reference_ms=reference_ms,
        )
        return timing, per_shape

    def _shape_timing(self, shape: Shape, seen: Samples) -> ShapeTiming:
        ratio = ratio_over_pairs(seen.log_ratios)
        candidate_s = statistics.median(seen.candidate_s)
        return ShapeTiming(
            candidate_ms=candidate_s * 1e3,
            baseline_ms=statistics.median(seen.baseline_s) * 1e3,
            time_ratio=ratio.value,
            ratio_low=ratio.low,
            ratio_high=ratio.high,
            pairs=len(seen.log_ratios),
            samples=len(seen.candidate_s),
            overhead_ms=seen.overhead_s * 1e3,
            achieved_gb_s=_rate(self.task.traffic_bytes, shape, candidate_s),
            achieved_gflop_s=_rate(self.task.flops, shape, candidate_s),
        )

    def _limits(self) -> CallLimits:
        return CallLimits(self.task.constraints.setup_timeout_s, self.task.constraints.call_timeout_s)

    def _cpu(self) -> int | None:
        """Judge and worker share one core: measured, that is what keeps A/A quiet on few cores."""
        return max(os.sched_getaffinity(0)) if self.task.constraints.threads == 1 else None


class _Pinned:
    """Hold the judge's thread on a core for a while; None leaves it free."""

    def __init__(self, cpu: int | None) -> None:
        self._cpu = cpu
        self._before = os.sched_getaffinity(0)

    def __enter__(self) -> None:
        if self._cpu is not None:
            os.sched_setaffinity(0, {self._cpu})

    def __exit__(self, *_: object) -> None:
        os.sched_setaffinity(0, self._before)


def _net(elapsed_s: float, overhead_s: float) -> float:
    return max(elapsed_s - overhead_s, SMALLEST_SHARE * elapsed_s)


def _rate(expression: str | None, shape: Shape, seconds: float) -> float | None:
    """Billions a second of what the task declares."""
    return None if expression is None else parse(expression).evaluate(shape.symbols) / seconds / 1e9


def _blame(name: str, task: Task, failure: CandidateFailure) -> Exception:
    if name == "candidate":
        return failure
    return ConfigError(f"task {task.name}: its baseline fails: {failure.message}")
