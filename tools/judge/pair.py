"""One fresh pair of workers, candidate and baseline, with a third that runs nobody's code beside them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, Self

import torch

from ...memory.errors import ConfigError, HarnessError
from ...memory.schema import Task
from .arena import required_bytes
from .bench import Bench, Program
from .cases import DECLARED
from .failure import CandidateFailure
from .place import Place
from .problem import Drawn, Parameters, Problem, Shape
from .seat import Seat
from .trial import CallLimits, CallTime, Trial
from .verify import is_sound

Side = Literal["candidate", "baseline", "empty_native", "empty_python"]
PROGRAM_SIDES: tuple[Side, Side] = ("candidate", "baseline")
MIN_SAMPLES = 3
# A call that vanishes in the handshake's noise is not zero.
SMALLEST_SHARE = 0.02


@dataclass(frozen=True)
class PairTimes:
    """What one pair took at one shape; the empty call is subtracted."""

    candidate_s: tuple[float, ...]
    baseline_s: tuple[float, ...]
    overhead_s: float
    """The empty call beside the candidate: reveal, handshake and taking the output, in the same moments."""
    wall_gap_s: float
    """Candidate's less baseline's time by the judge's clock, whichever clock counts; of each, its faster half."""

    @property
    def log_ratio(self) -> float:
        """log(time(candidate) / time(baseline)), each the mean of its faster half."""
        return math.log(faster_half(self.candidate_s) / faster_half(self.baseline_s))


def faster_half(times_s: Sequence[float]) -> float:
    """The mean of the faster half: what else runs on the machine only ever adds time.

    Measured on two cores under a load of 3, its spread over pairs is 0.6 to 0.9 times that of the median.
    """
    ordered = sorted(times_s)
    return statistics.fmean(ordered[: (len(ordered) + 1) // 2])


@dataclass(frozen=True)
class PairPlan:
    """What pairs of one evaluation share."""

    bench: Bench
    task: Task
    problem: Problem
    place: Place
    generator: torch.Generator
    """Of the judge's choices: orders and moments; data has generators of its own."""
    events: bool
    """Whether the device's events are the clock: only where the candidate is device code alone."""
    cpu: int | None
    """The core that judge and workers share; None leaves them free."""
    empties: dict[Side, Seat]
    """Run nobody's code, so they serve all pairs; none by events, where each call brings its own overhead along."""
    deadline_s: float
    """On the monotonic clock: pairs end early after it."""


class Pair:
    """Two fresh workers with the same call history, and the empty one; ends the two when left.

    Raises:
        CandidateFailure: the candidate failed, or a timed output of it was wrong.
        ConfigError: the baseline did.
    """

    def __init__(self, plan: PairPlan, candidate: Program, baseline: Program, shapes: list[Shape]) -> None:
        self._plan = plan
        self._programs = {"candidate": candidate, "baseline": baseline}
        self._size = max(required_bytes(plan.problem.signature(shape).tensors) for shape in shapes)
        self._stack = ExitStack()
        self._sides: dict[Side, Seat] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            # Side by side, and in the end too: what a worker waits for, and what the kernel does for it, takes longest.
            for side in self._any_order():
                self._sides[side] = stack.enter_context(self._start(side))
            for side in PROGRAM_SIDES:
                self._await_ready(side)
            self._stack = stack.pop_all()
        for side in PROGRAM_SIDES:
            empty = empty_of(self._programs[side])
            if empty in self._plan.empties:
                self._sides[empty] = self._plan.empties[empty]
        return self

    def _any_order(self) -> list[Side]:
        """The kernel hands out the same memory again and again: who always came first would keep its luck with it."""
        order = torch.randperm(len(PROGRAM_SIDES), generator=self._plan.generator).tolist()
        return [PROGRAM_SIDES[place] for place in order]

    def __exit__(self, *_: object) -> None:
        for side in PROGRAM_SIDES:
            self._sides[side].worker.stop()
        self._stack.close()

    def measure(self, shape: Shape, samples: int, turn: int) -> PairTimes:
        """Time `samples` calls of each side, in random order, and one call more on other data.

        `turn` chooses that data. After the deadline three will do: a candidate may turn slow once it is timed.
        """
        parameters = self._plan.problem.draw_parameters()
        signature = self._plan.problem.signature(shape)
        limits = CallLimits.of(self._plan.task.constraints)
        trials = {side: Trial(seat, signature, shape, parameters, limits) for side, seat in self._sides.items()}
        last = self._plan.problem.draw(shape, DECLARED, parameters)
        rounds: list[dict[Side, CallTime]] = []
        surprise = int(torch.randint(samples + 1, (1,), generator=self._plan.generator))
        for number in range(samples + 1):
            late = len(rounds) >= MIN_SAMPLES and time.monotonic() > self._plan.deadline_s
            if number == surprise or (late and number < surprise):
                self._surprise(trials, shape, parameters, last, turn)
            if late:
                break
            if number == surprise:
                continue
            drawn = self._plan.problem.draw(shape, DECLARED, parameters)
            rounds.append(self._round(trials, last, drawn, DECLARED))
            last = drawn
        overhead_s = {side: self._overhead_s(side, rounds) for side in PROGRAM_SIDES}
        candidate_s, baseline_s = (
            tuple(_net(times[side].elapsed_s, overhead_s[side]) for times in rounds) for side in PROGRAM_SIDES
        )
        return PairTimes(
            candidate_s=candidate_s,
            baseline_s=baseline_s,
            overhead_s=overhead_s["candidate"],
            wall_gap_s=_wall_s(rounds, "candidate") - _wall_s(rounds, "baseline"),
        )

    def _overhead_s(self, side: Side, rounds: list[dict[Side, CallTime]]) -> float:
        """What of a side's times is nobody's work."""
        empty = empty_of(self._programs[side])
        by_events = [times["baseline"].overhead_s for times in rounds]
        return faster_half(
            [times[empty].elapsed_s if own is None else own for times, own in zip(rounds, by_events, strict=True)]
        )

    def _surprise(
        self, trials: dict[Side, Trial], shape: Shape, parameters: Parameters, last: Drawn, turn: int
    ) -> None:
        """A round like all others but for its data; its times are dropped.

        A candidate knows when it is timed (its core, its count of calls) and could be right only until then.
        """
        others = self._plan.problem.cases(shape)[1:]
        case = others[turn % len(others)]
        drawn = self._plan.problem.draw(shape, case, parameters)
        if is_sound(self._plan.problem, shape, drawn, parameters, self._plan.task.tolerance, case):
            self._round(trials, last, drawn, case)

    def _round(self, trials: dict[Side, Trial], last: Drawn, drawn: Drawn, case: str) -> dict[Side, CallTime]:
        """The same fresh input through all sides, every output checked.

        Before each timed call goes one on the last round's input: drawing and checking leave judge and worker cold, and
        a handshake between cold processes costs several times a warm one and varies as much.
        """
        sides = list(trials)
        times: dict[Side, CallTime] = {}
        for index in torch.randperm(len(sides), generator=self._plan.generator).tolist():
            side = sides[index]
            try:
                trials[side].run(last, DECLARED)
                times[side] = trials[side].run(drawn, case)
                if side == "candidate" or (side == "baseline" and case == DECLARED):
                    trials[side].confirm(drawn, case, self._plan.task.tolerance)
            except CandidateFailure as failure:
                raise self._blame(side, failure) from None
        return times

    def _start(self, side: Side) -> Seat:
        plan = self._plan
        return plan.bench.start(self._programs[side], plan.place, self._size, cpu=plan.cpu, timed=plan.events)

    def _await_ready(self, side: Side) -> None:
        try:
            self._plan.bench.await_ready(self._sides[side], self._programs[side])
        except CandidateFailure as failure:
            raise self._blame(side, failure) from None

    def _blame(self, side: Side, failure: CandidateFailure) -> Exception:
        if side == "baseline":
            return ConfigError(f"task {self._plan.task.name}: its baseline fails: {failure.message}")
        if side != "candidate":
            return HarnessError(f"the worker that computes nothing fails: {failure.message}")
        return failure


def _net(elapsed_s: float, overhead_s: float) -> float:
    return max(elapsed_s - overhead_s, SMALLEST_SHARE * elapsed_s)


def _wall_s(rounds: list[dict[Side, CallTime]], side: Side) -> float:
    return faster_half([times[side].wall_s for times in rounds])


def empty_of(program: Program) -> Side:
    """The side that answers as this program does, and computes nothing."""
    return "empty_python" if program.loop is None else "empty_native"
