"""Is the task worth judging? How much its outputs depend on its inputs and parameters, measured on the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from ...memory.errors import ConfigError
from ...memory.schema import Finding, Task, Tolerance
from .arena import TensorPlan, required_bytes
from .cases import DECLARED
from .compare import compare
from .problem import Drawn, Parameters, Problem, Shape, Signature

CONSTANT_SHARE = 0.01
"""Where no more elements than this leave the tolerance between independent draws, a constant passes for the output."""
INSENSITIVE_SHARE = 0.1
LARGE_BYTES = 16 << 20
"""Above it a smaller shape is looked at, if there is one."""
MAX_ALONE = 12
"""So many inputs, and so many parameters, are looked at one by one."""


@dataclass(frozen=True)
class Moved:
    """How many elements of one output leave the tolerance when something else goes in."""

    output: str
    elements: int
    share: float


def lint(problem: Problem, task: Task, generator: torch.Generator) -> tuple[Finding, ...]:
    """What makes the task easy to cheat; costs a few calls of the reference at one shape.

    Raises:
        ConfigError: zeros, or any other constant, would pass for every output.
    """
    shape = _shape(problem, generator)
    parameters = problem.draw_parameters()
    declared = [problem.draw(shape, DECLARED, parameters) for _ in range(2)]
    look = _Look(problem, task, shape, parameters)
    _refuse_zeros(look, declared[0])
    moved = look.moved(declared[0].expected, declared[1].expected)
    if all(output.share <= CONSTANT_SHARE for output in moved):
        others = [problem.draw(shape, case, parameters) for case in problem.cases(shape)[1:]]
        _refuse_constants(look, [declared[0], *others], moved)
    findings = list(_insensitive(moved))
    findings += look.unused_inputs(*declared)
    findings += look.unused_parameters(declared[0], problem.draw_parameters())
    return tuple(findings)


@dataclass(frozen=True)
class _Look:
    """The reference at one shape."""

    problem: Problem
    task: Task
    shape: Shape
    parameters: Parameters

    @property
    def signature(self) -> Signature:
        return self.problem.signature(self.shape)

    @property
    def tolerance(self) -> Tolerance:
        return self.task.tolerance

    def moved(self, before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> list[Moved]:
        """Output by output, what changed by more than the tolerance."""
        found = []
        for plan, old, new in zip(self.signature.outputs, before, after, strict=True):
            error = compare(plan.name, new, old.double() if old.is_floating_point() else old, self.tolerance)
            found.append(Moved(plan.name, error.elements, error.mismatched / max(1, error.elements)))
        return found

    def unused_inputs(self, first: Drawn, second: Drawn) -> Iterator[Finding]:
        """The inputs that can be drawn anew without any output moving, one at a time."""
        names = [plan.name for plan in self.signature.inputs if isinstance(plan, TensorPlan)]
        if not 1 < len(names) <= MAX_ALONE:
            return
        before = self.problem.native(self.shape, first, self.parameters)
        for position, name in enumerate(names):
            mixed = tuple(
                new if place == position else old
                for place, (old, new) in enumerate(zip(first.inputs, second.inputs, strict=True))
            )
            after = self.problem.native(self.shape, Drawn(mixed, ()), self.parameters)
            if all(output.share == 0 for output in self.moved(before, after)):
                evidence = f"input {name} does not matter: drawn anew, it moves no element of any output"
                yield Finding(kind="task_unused_input", evidence=evidence)

    def unused_parameters(self, drawn: Drawn, others: Parameters) -> Iterator[Finding]:
        """The same for the model's parameters, in one finding."""
        plans = self.signature.parameters
        changed = [place for place, value in enumerate(others) if not torch.equal(value, self.parameters[place])]
        if not changed or len(plans) > MAX_ALONE:
            return
        before = self.problem.native(self.shape, drawn, self.parameters)
        unused = []
        for position in changed:
            mixed = tuple(others[place] if place == position else value for place, value in enumerate(self.parameters))
            if all(output.share == 0 for output in self.moved(before, self.problem.native(self.shape, drawn, mixed))):
                unused.append(plans[position].name)
        if unused:
            evidence = f"drawn anew one at a time, these parameters move no element of any output: {', '.join(unused)}"
            yield Finding(kind="task_unused_parameter", evidence=evidence)


def _shape(problem: Problem, generator: torch.Generator) -> Shape:
    """The first timed shape; where that is large, the largest that is not, the smallest of all left out."""

    def size_bytes(shape: Shape) -> int:
        return required_bytes(problem.signature(shape).tensors)

    shapes = problem.shapes(generator)
    if size_bytes(shapes[0]) <= LARGE_BYTES:
        return shapes[0]
    ordered = sorted(shapes, key=size_bytes)
    # The smallest hidden shape is often a single element, of which little can be said.
    return next((shape for shape in reversed(ordered[1:]) if size_bytes(shape) <= LARGE_BYTES), shapes[0])


def _refuse_zeros(look: _Look, drawn: Drawn) -> None:
    zeros = [torch.zeros_like(output) for output in drawn.expected]
    if all(output.share == 0 for output in look.moved(drawn.expected, zeros)):
        raise ConfigError(
            f"task {look.task.name}: every element of {_names(look)} is zero within the tolerance on the declared "
            f"data{_at(look.shape)}, so zeros pass; give inputs that matter (another distribution, low or high), or "
            "another output"
        )


def _refuse_constants(look: _Look, draws: Sequence[Drawn], declared: Sequence[Moved]) -> None:
    """The declared draws agree; if other data agrees with them too, nothing is left to compute."""
    for drawn in draws[1:]:
        if any(output.share > CONSTANT_SHARE for output in look.moved(draws[0].expected, drawn.expected)):
            return
    figures = "; ".join(f"{output.share:.2%} of {output.elements} elements of {output.output}" for output in declared)
    raise ConfigError(
        f"task {look.task.name}: its output hardly depends on its inputs: between independent draws{_at(look.shape)} "
        f"only {figures} leave the tolerance, and no more with any other data, so a constant passes; let "
        f"{_names(look)} be what depends on the inputs, or tighten the tolerance"
    )


def _insensitive(moved: Sequence[Moved]) -> Iterator[Finding]:
    for output in moved:
        if output.share < INSENSITIVE_SHARE:
            evidence = (
                f"output {output.output} hardly depends on the declared data: between independent draws "
                f"{output.share:.2%} of {output.elements} elements leave the tolerance"
            )
            yield Finding(kind="task_insensitive_output", evidence=evidence)


def _names(look: _Look) -> str:
    return ", ".join(plan.name for plan in look.signature.outputs)


def _at(shape: Shape) -> str:
    symbols = ", ".join(f"{name}={value}" for name, value in shape.symbols.items())
    return f" at {symbols}" if symbols else ""
