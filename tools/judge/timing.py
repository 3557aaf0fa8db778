"""Speed: fresh pairs of workers, all timed shapes in each, until the ratio's interval says enough."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, Self

import torch

from ...memory.clock import Clock
from ...memory.errors import ConfigError
from ...memory.expressions import parse
from ...memory.schema import Device, Finding, MeasuredTiming, ShapeTiming, Task
from . import leases
from .arena import required_bytes
from .bench import Bench, Program
from .cores import timing_core
from .failure import CandidateFailure
from .floor import Floor, below_floor, floor_of
from .noise import AA_PAIRS, measured_noise
from .pair import MIN_SAMPLES, Pair, PairPlan, PairTimes, empty_of
from .peaks import measured_peaks
from .place import Place
from .problem import Problem, Shape
from .statistics import LOOKS, is_clear, ratio_over_pairs
from .trial import without_collection
from .witness import disagreements

MAX_SAMPLES = 24
PAIR_S = 0.1
"""What the samples of one pair may take where that is enough for three: starting its workers takes half of that."""
TIME_BUDGET_S = 6.0
TIME_LIMIT_S = 60.0
FIRM_PAIRS = 6
"""Fewer give an interval that is many times the noise: worth the limit, where all else stays within the budget."""
NOISE_BUDGET_S = 3.0


def samples_for(sample_cost_s: float) -> int:
    """Of each side, in each pair: as many as fit, from three to twenty-four."""
    return max(MIN_SAMPLES, min(MAX_SAMPLES, int(PAIR_S / sample_cost_s)))


def goes_on(pairs: int, elapsed_s: float, pair_cost_s: float) -> bool:
    """Whether the next look is within the budget.

    Nobody else on the machine can measure meanwhile, and a candidate may be slow on purpose.
    """
    next_look = next((look for look in LOOKS if look.pairs > pairs), None)
    if next_look is None:
        return False
    allowed_s = TIME_LIMIT_S if next_look.pairs <= FIRM_PAIRS else TIME_BUDGET_S
    return elapsed_s + (next_look.pairs - pairs) * pair_cost_s <= allowed_s


@dataclass(frozen=True)
class Timed:
    """All that timing found."""

    timing: MeasuredTiming
    per_shape: list[ShapeTiming]
    """One entry for each timed shape, in the task's order."""
    findings: tuple[Finding, ...]
    """Anything here makes the verdict `suspect`."""


@dataclass
class Timer:
    """Times programs of one task."""

    bench: Bench
    task: Task
    problem: Problem
    place: Place
    generator: torch.Generator
    device: Device
    clock: Clock
    reference_ratios: dict[str, float]
    """Task -> time(PyTorch reference) / time(baseline): context, so that it is measured once by a judge process."""

    def time(
        self,
        shapes: list[Shape],
        candidate: Program,
        baseline: Program,
        reference: Program,
        report: Callable[[int, int], None],
    ) -> Timed:
        """Measure, while nobody else on this machine does.

        Raises:
            CandidateFailure: a timed call failed or gave a wrong output.
            ConfigError: the baseline did.
        """
        events = candidate.device_code is not None
        with (
            leases.timing(self.device),
            without_collection(),
            _pinned(self._cpu()),
            self._plan(shapes, [candidate, baseline, reference], events=events) as plan,
            Series(plan, shapes, candidate, baseline) as series,
        ):
            series.run(report)
            reference_ratio = 1.0 if reference is baseline else self._reference_ratio(series, reference)
            aa_band = self._aa_band(series)
            per_shape = [self._shape_timing(n, shape, series) for n, shape in enumerate(shapes)]
            per_shape, findings = self._with_floors(shapes, per_shape)
        ratio = ratio_over_pairs(series.log_ratios)
        baseline_ms = statistics.geometric_mean(entry.baseline_ms for entry in per_shape)
        timing = MeasuredTiming(
            method="device_events_interleaved" if events else "wall_clock_interleaved",
            candidate_ms=statistics.geometric_mean(entry.candidate_ms for entry in per_shape),
            baseline_ms=baseline_ms,
            time_ratio=ratio.value,
            ratio_low=ratio.low,
            ratio_high=ratio.high,
            reference_ms=baseline_ms * reference_ratio,
            aa_band=aa_band,
            conditions=self.place.conditions(),
        )
        return Timed(timing, per_shape, (*findings, *(disagreements(shapes, series.pairs) if events else ())))

    def _reference_ratio(self, series: Series, reference: Program) -> float:
        if self.task.id not in self.reference_ratios:
            pair = series.once(reference)
            self.reference_ratios[self.task.id] = _typical_s(pair) / _typical_s(pair, "baseline")
        return self.reference_ratios[self.task.id]

    @contextmanager
    def _plan(self, shapes: list[Shape], programs: list[Program], *, events: bool) -> Iterator[PairPlan]:
        cpu = self._cpu()
        deadline_s = time.monotonic() + TIME_LIMIT_S
        size_bytes = max(required_bytes(self.problem.signature(shape).tensors) for shape in shapes)
        with ExitStack() as stack:
            loops = {} if events else {empty_of(program): program.loop for program in programs}
            empties = {
                side: stack.enter_context(self.bench.empty_seat(self.place, size_bytes, cpu=cpu, loop=loop))
                for side, loop in loops.items()
            }
            yield PairPlan(
                self.bench, self.task, self.problem, self.place, self.generator, events, cpu, empties, deadline_s
            )

    def _aa_band(self, series: Series) -> float | None:
        """The baseline against itself; None where that takes longer than it is worth."""
        if AA_PAIRS * series.pair_cost_s > NOISE_BUDGET_S:
            return None
        baseline_s = statistics.geometric_mean(_typical_s(pair, "baseline") for pair in series.pairs)
        noise = measured_noise(
            self.device, self.task.constraints.threads, baseline_s, self.clock.now_s(), series.baseline_log_ratio
        )
        return noise.band(len(series.pairs))

    def _with_floors(
        self, shapes: list[Shape], timings: list[ShapeTiming]
    ) -> tuple[list[ShapeTiming], tuple[Finding, ...]]:
        """Each shape's floor; before anybody is accused, the peaks are measured again."""
        floors = self._floors(shapes, fresh=False)
        if below_floor(list(zip(shapes, timings, floors, strict=True))) is not None:
            floors = self._floors(shapes, fresh=True)
        found = below_floor(list(zip(shapes, timings, floors, strict=True)))
        entries = zip(timings, floors, strict=True)
        told = [timing.model_copy(update={"floor_ms": floor and floor.ms}) for timing, floor in entries]
        return told, () if found is None else (found,)

    def _floors(self, shapes: list[Shape], *, fresh: bool) -> list[Floor | None]:
        threads = self.task.constraints.threads
        peaks = measured_peaks(self.device, threads, self.place.meter(threads), self.clock.now_s(), fresh=fresh)
        return [floor_of(self.task, shape, self.problem.signature(shape), peaks) for shape in shapes]

    def _shape_timing(self, number: int, shape: Shape, series: Series) -> ShapeTiming:
        pairs = [pair[number] for pair in series.pairs]
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
        return timing_core() if self.task.constraints.threads == 1 else None


class Series:
    """The pairs of one measurement."""

    def __init__(self, plan: PairPlan, shapes: list[Shape], candidate: Program, baseline: Program) -> None:
        self._plan = plan
        self._shapes = shapes
        self._candidate = candidate
        self._baseline = baseline
        self._samples = 0
        self._kept = ExitStack()
        self._launched: dict[int, Pair] = {}
        self.pairs: list[list[PairTimes]] = []
        """For each pair, its times at each shape."""
        self.pair_cost_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    @property
    def log_ratios(self) -> list[float]:
        """One a pair: the mean over the shapes."""
        return [_log_ratio(pair) for pair in self.pairs]

    def run(self, report: Callable[[int, int], None]) -> None:
        """Measure pairs from look to look until the answer is clear or the budget is spent."""
        start_s = time.monotonic()
        for look in LOOKS:
            while len(self.pairs) < look.pairs:
                self.pairs.append(self.once(self._candidate, len(self.pairs)))
                self.pair_cost_s = (time.monotonic() - start_s) / len(self.pairs)
                report(len(self.pairs), LOOKS[-1].pairs)
                if len(self.pairs) >= LOOKS[0].pairs and time.monotonic() - start_s > TIME_LIMIT_S:
                    return
            if is_clear(ratio_over_pairs(self.log_ratios)):
                return
            if not goes_on(look.pairs, time.monotonic() - start_s, self.pair_cost_s):
                return

    def once(self, program: Program, number: int = 0) -> list[PairTimes]:
        """One fresh pair of this program and the baseline through all shapes."""
        with self._pair(program) as pair:
            self._samples = self._samples or self._rehearsed(pair)
            return [pair.measure(shape, self._samples, number) for shape in self._shapes]

    def baseline_log_ratio(self) -> float:
        """One fresh pair of the baseline and itself."""
        try:
            return _log_ratio(self.once(self._baseline))
        except CandidateFailure as failure:
            raise ConfigError(f"task {self._plan.task.name}: its baseline fails: {failure.message}") from None

    def _pair(self, program: Program) -> AbstractContextManager[Pair]:
        """Fresh workers; but launchers run no host code and are the judge's own, so two of them serve all pairs."""
        if not self._plan.events:
            return Pair(self._plan, program, self._baseline, self._shapes)
        if id(program) not in self._launched:
            pair = Pair(self._plan, program, self._baseline, self._shapes)
            self._launched[id(program)] = self._kept.enter_context(pair)
        return nullcontext(self._launched[id(program)])

    def _rehearsed(self, pair: Pair) -> int:
        """How many samples a pair takes: calls of the first one that do not count say what one costs."""
        start_s = time.monotonic()
        for shape in self._shapes:
            pair.measure(shape, 1, 0)
        # One sample, and the one on other data.
        return samples_for((time.monotonic() - start_s) / 2)


def _log_ratio(pair: list[PairTimes]) -> float:
    return statistics.fmean(times.log_ratio for times in pair)


def _typical_s(pair: list[PairTimes], side: Literal["candidate", "baseline"] = "candidate") -> float:
    """The geometric mean over the shapes of one pair's medians."""
    medians = [statistics.median(times.candidate_s if side == "candidate" else times.baseline_s) for times in pair]
    return statistics.geometric_mean(medians)


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
