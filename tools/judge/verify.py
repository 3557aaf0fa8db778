"""Correctness: every shape, every kind of data, one worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from ...memory.schema import OutputError, ShapeResult, Task, Tolerance
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

    def verify(self, program: Program, report: Callable[[int, int], None]) -> list[ShapeResult]:
        """All shapes and cases.

        Args:
            report: called with (checked, total) after each shape.

        Raises:
            CandidateFailure: at the first case that fails.
        """
        results: dict[int, ShapeResult] = {}
        size = max(required_bytes(self.problem.signature(shape).tensors) for shape in self.shapes)
        with self.bench.seat(program, self.place, size) as seat:
            for done, position in enumerate(self._smallest_first(), start=1):
                shape = self.shapes[position]
                parameters = self.problem.draw_parameters()
                trial = Trial(seat, self.problem.signature(shape), shape, parameters, self.limits)
                results[position] = self._check_shape(trial, shape, parameters, position)
                report(done, len(self.shapes))
        return [results[position] for position in range(len(self.shapes))]

    def _smallest_first(self) -> list[int]:
        """Positions of the shapes: most wrong candidates are wrong at the cheapest one as well."""
        sizes = [required_bytes(self.problem.signature(shape).tensors) for shape in self.shapes]
        return sorted(range(len(sizes)), key=lambda position: sizes[position])

    def _check_shape(self, trial: Trial, shape: Shape, parameters: Parameters, position: int) -> ShapeResult:
        worst: dict[str, OutputError] = {}
        checked = 0
        for case in self._cases(shape, position):
            drawn = self.problem.draw(shape, case, parameters)
            native = self.problem.native(shape, drawn, parameters)
            if not _agrees(native, drawn, self.task.tolerance, case):
                continue
            trial.run(drawn, case)
            for error in trial.check(drawn, case, self.task.tolerance):
                known = worst.get(error.output)
                if known is None or error.tolerance_ratio > known.tolerance_ratio:
                    worst[error.output] = error
            if case == DECLARED:
                self.precision.see(trial.delivered, native, drawn.expected)
            checked += 1
        return ShapeResult(symbols=shape.symbols, hidden=shape.hidden, cases=checked, errors=tuple(worst.values()))

    def _cases(self, shape: Shape, position: int) -> list[str]:
        """All cases at a timed shape; at a hidden one the declared data and a rotating choice."""
        cases = list(self.problem.cases(shape))
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
