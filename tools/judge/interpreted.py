"""Shapes for Triton's interpreter, which takes milliseconds for each program instance: few instances, little data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...memory.errors import ConfigError, UnavailableError
from ...memory.expressions import SM_COUNT
from ...memory.schema import Candidate, DeviceKind, Language, LaunchPlan, ShapeResult
from .device_code import DeviceCode, resolve_steps
from .languages import is_interpreted
from .place import Place
from .plan_text import read_plan
from .problem import Problem, Shape
from .trial import CallLimits

MAX_INSTANCES = 200
MAX_ELEMENTS = 1 << 20
CALL_TIMEOUT_S = 120.0
"""What a kernel does at once on a GPU, the interpreter does one instance after the other."""


@dataclass(frozen=True)
class Interpreted:
    """What of a task the interpreter can run of one candidate."""

    plan: LaunchPlan
    problem: Problem
    sm_count: int

    def fits(self, shape: Shape) -> bool:
        """Whether a call at this shape takes seconds rather than hours."""
        signature = self.problem.signature(shape)
        try:
            steps = resolve_steps(self.plan, signature, {**shape.symbols, SM_COUNT: self.sm_count})
        except ConfigError:
            return True  # compiling says so, and where
        instances = sum(math.prod(step.grid) for step in steps)
        return instances <= MAX_INSTANCES and sum(plan.elements for plan in signature.tensors) <= MAX_ELEMENTS


def fits_interpreter(candidate: Candidate, problem: Problem, place: Place) -> Callable[[Shape], bool] | None:
    """Which shapes the interpreter can run; None where the candidate runs for real.

    All of them where the plan cannot be read: compiling says why.
    """
    if not is_interpreted(candidate.language, place.kind):
        return None
    try:
        plan = read_plan(candidate.source, Language.TRITON)
    except ConfigError:
        return lambda shape: True
    return Interpreted(plan, problem, place.sm_count).fits


def interpretable(shapes: list[Shape], fits: Callable[[Shape], bool], why_not: str) -> list[Shape]:
    """The shapes that run.

    Raises:
        UnavailableError: none does, or `why_not` says why the interpreter's word would be worth nothing.
    """
    if why_not:
        raise UnavailableError(f"the candidate can be checked on a GPU only: {why_not}; the compile tier works here")
    kept = [shape for shape in shapes if fits(shape)]
    if not kept:
        raise UnavailableError(
            f"at every shape of this task the candidate launches more than {MAX_INSTANCES} program instances or takes "
            f"more than {MAX_ELEMENTS} elements, which Triton's interpreter would not finish: it needs a GPU"
        )
    return kept


def code_to_run(code: DeviceCode | None, language: Language, kind: DeviceKind) -> DeviceCode | None:
    """The device code that a program runs: in the interpreter, the plan alone."""
    return code.uncompiled() if code is not None and is_interpreted(language, kind) else code


def patient(limits: CallLimits) -> CallLimits:
    """The limits of a call in the interpreter."""
    return replace(limits, call_s=max(limits.call_s, CALL_TIMEOUT_S))


def right_message(language: Language, kind: DeviceKind, results: list[ShapeResult]) -> str:
    """What was checked and found right, and what was not checked."""
    if not is_interpreted(language, kind):
        return "every output is right at every shape"
    timed = sum(not result.hidden for result in results)
    small = f"every output is right at {len(results)} small shapes in Triton's interpreter"
    if timed:
        return f"{small}, {timed} of the task's own among them; it was not run on a GPU"
    return f"{small}; the task's own shapes are too large for it and were not run: that takes a GPU"
