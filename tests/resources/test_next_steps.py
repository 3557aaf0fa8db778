"""What an answer tells its reader to do next."""

from __future__ import annotations

import math

import pytest

from kernelguild.memory.schema import (
    CompileReport,
    Device,
    Evaluation,
    Language,
    MeasuredTiming,
    OutputError,
    ShapeResult,
    Status,
    Tier,
    UnavailableTiming,
    Verdict,
)
from kernelguild.resources.next_steps import next_steps

DEVICE = Device(
    model="cpu-2c", instance="cpu", kind="cpu", name="a processor", cores=2, memory_bytes=1, toolchain="g++ 12"
)


def judged(status: Status, timing: MeasuredTiming | UnavailableTiming, verdict: Verdict, shape: ShapeResult) -> str:
    """The first next step after a profile that ended so."""
    evaluation = Evaluation(
        id="1" * 32,
        candidate_id="2" * 32,
        task_id="3" * 32,
        task_name="softmax",
        device=DEVICE,
        judge_version="1",
        tier=Tier.PROFILE,
        status=status,
        message="",
        shapes=(shape,),
        timing=timing,
        verdict=verdict,
        created_at_s=1.0,
        duration_s=1.0,
    )
    return next_steps(evaluation, Language.CPP)[0]


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.97, 1.04, "No difference beyond the noise"), (0.7, 1.2, "The interval is wide")]
)
def test_noise_is_told_from_equal_speed(low: float, high: float, said: str) -> None:
    timing = MeasuredTiming(candidate_ms=1, baseline_ms=1, time_ratio=1, ratio_low=low, ratio_high=high)
    shape = ShapeResult(symbols={"n": 8}, hidden=False, cases=6)
    assert judged(Status.PASSED, timing, Verdict.INCONCLUSIVE, shape).startswith(said)


@pytest.mark.parametrize(("value", "hinted"), [(math.nan, True), (math.inf, True), (3.0, False)])
def test_a_value_that_is_not_finite_is_explained(value: float, hinted: bool) -> None:
    error = OutputError(
        output="y",
        max_abs_error=math.inf,
        tolerance_ratio=math.inf,
        mismatched=1,
        elements=8,
        worst_index=(2,),
        worst_value=value,
        worst_expected=0.5,
    )
    shape = ShapeResult(symbols={"n": 8}, hidden=False, cases=1, failed_case="large", errors=(error,))
    said = judged(Status.INCORRECT_VALUES, UnavailableTiming(reason="wrong"), Verdict.NONE, shape)
    assert ("an intermediate overflowed" in said) is hinted


@pytest.mark.parametrize(
    "line",
    [
        "candidate.cpp:7:13: error: expected ';'",
        'candidate.cu(7): error: identifier "INFINTY" is undefined',
        "candidate.cu:7: error: kernelguild.steps.0.gird: unknown key",
    ],
)
def test_the_line_of_each_compilers_first_error_is_named(line: str) -> None:
    report = CompileReport(ok=False, command="", diagnostics=f"{line}\n   7 | x\n", duration_s=0)
    evaluation = Evaluation(
        id="1" * 32,
        candidate_id="2" * 32,
        task_id="3" * 32,
        task_name="softmax",
        device=DEVICE,
        judge_version="1",
        tier=Tier.COMPILE,
        status=Status.COMPILE_ERROR,
        message="",
        compile=report,
        timing=UnavailableTiming(reason="it does not compile"),
        verdict=Verdict.NONE,
        created_at_s=1.0,
        duration_s=1.0,
    )
    assert next_steps(evaluation, Language.CUDA)[0].startswith("Fix line 7 of the source")
