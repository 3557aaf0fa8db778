"""Correctness: every shape, every kind of data, one worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby

import torch

from ...memory.schema import OutputError, ShapeResult, Task, Tolerance
from .ahead import Check
from .arena import required_bytes
from .bench import Bench, Program
from .cases import DECLARED
from .compare import agrees, compare
from .place import Place
from .precision import PrecisionWatch
from .problem import Drawn, Parameters, Problem, Shape
from .trial import CallLimits, Trial

HIDDEN_CASES = 3
UNDECLARED_MARGIN = 0.25


@dataclass
class Verifier:
    """Checks programs of one task against its problem."""

    bench: Bench
    task: Task
    problem: Problem
    place: Place
    shapes: list[Shape]
    """The timed shapes, then the hidden ones."""
    limits: CallLimits
    precision: PrecisionWatch = field(default_factory=PrecisionWatch)

    def verify(
        self, program: Program, checks: Iterable[Check], report: Callable[[int, int], None]
    ) -> list[ShapeResult]:
        """Go through the checks of these shapes, as `draw_checks` gives them.

        Args:
            report: called with (checked, total) before each shape.

        Raises:
            CandidateFailure: at the first case that fails.
        """
        size = max(required_bytes(self.problem.signature(shape).tensors) for shape in self.shapes)
        results = {position: ShapeResult(symbols=shape.symbols, hidden=shape.hidden, cases=0, errors=())
                   for position, shape in enumerate(self.shapes)}  # fmt: skip
        with self.bench.seat(program, self.place, size) as seat:
            for done, (position, group) in enumerate(groupby(checks, key=lambda check: check.position)):
                report(done, len(self.shapes))
                shape, first = self.shapes[position], next(group)
                trial = Trial(seat, self.problem.signature(shape), shape, first.parameters, self.limits)
                results[position] = self._check_shape(trial, shape, chain([first], group))
        return [results[position] for position in range(len(self.shapes))]

    def _check_shape(self, trial: Trial, shape: Shape, checks: Iterable[Check]) -> ShapeResult:
        worst: dict[str, OutputError] = {}
        checked = 0
        for check in checks:
            trial.run(check.drawn, check.case)
            for error in trial.check(check.drawn, check.case, self.task.tolerance):
                known = worst.get(error.output)
                if known is None or error.tolerance_ratio > known.tolerance_ratio:
                    worst[error.output] = error
            if check.case == DECLARED:
                self.precision.see(trial.delivered, check.native, check.drawn.expected)
            checked += 1
        return ShapeResult(symbols=shape.symbols, hidden=shape.hidden, cases=checked, errors=tuple(worst.values()))


def draw_checks(problem: Problem, shapes: list[Shape], tolerance: Tolerance) -> Iterator[Check]:
    """All cases of all shapes, the smallest shape first: most wrong candidates are wrong there as well.

    Raises:
        ConfigError: the reference fails.
    """
    sizes = [required_bytes(problem.signature(shape).tensors) for shape in shapes]
    for position in sorted(range(len(sizes)), key=lambda position: sizes[position]):
        shape, parameters = shapes[position], problem.draw_parameters()
        for case in _cases(problem, shape, position):
            drawn = problem.draw(shape, case, parameters)
            native = problem.native(shape, drawn, parameters)
            if _agrees(native, drawn, tolerance, case):
                yield Check(position, case, parameters, drawn, native)


def _cases(problem: Problem, shape: Shape, position: int) -> list[str]:
    """All cases at a timed shape; at a hidden one the declared data and a rotating choice."""
    cases = list(problem.cases(shape))
    if not shape.hidden:
        return cases
    first = 1 + position * (HIDDEN_CASES - 1)
    return [cases[0], *(cases[1 + (first + step) % (len(cases) - 1)] for step in range(HIDDEN_CASES - 1))]


def is_sound(
    problem: Problem, shape: Shape, drawn: Drawn, parameters: Parameters, tolerance: Tolerance, case: str
) -> bool:
    """Whether the declared dtype can hold this data: torch's own result must pass, or the case says nothing.

    On data that the task does not declare it must pass four times over: honest sums in another order lose more digits.
    """
    return _agrees(problem.native(shape, drawn, parameters), drawn, tolerance, case)


def _agrees(native: tuple[torch.Tensor, ...], drawn: Drawn, tolerance: Tolerance, case: str) -> bool:
    most = 1.0 if case == DECLARED else UNDECLARED_MARGIN
    strict = Tolerance(relative=most * tolerance.relative, rms=most * tolerance.rms)
    return all(
        agrees(output, expected, strict) or compare("native", output, expected, tolerance).tolerance_ratio <= most
        for output, expected in zip(native, drawn.expected, strict=True)
    )
