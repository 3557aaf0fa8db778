"""What honest candidates get: every shape checked, times with intervals, KernelBench problems as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp, pytorch
from kernelguild.memory.errors import ConfigError
from kernelguild.memory.schema import (
    Candidate,
    FunctionReference,
    Language,
    MeasuredTiming,
    Status,
    Task,
    Tier,
    UnavailableTiming,
    Verdict,
)
from kernelguild.tools.candidates import load_candidate
from kernelguild.tools.tasks import load_task

EXAMPLES = Path(__file__).parents[2] / "examples"

LINEAR = """\
import torch.nn as nn
import torch


class Model(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.scale = nn.Linear(width, 3, bias=bias)
        self.norm = nn.LayerNorm(3)

    def forward(self, x, power):
        return self.norm(self.scale(x)) ** power


def get_inputs():
    return [torch.rand(5, 7), 2]


def get_init_inputs():
    return [7, True]
"""


def test_a_right_candidate_is_checked_at_the_timed_and_at_hidden_shapes(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp(RIGHT))
    assert evaluation.status is Status.PASSED
    assert evaluation.verdict is Verdict.NONE
    assert evaluation.timing == UnavailableTiming(reason="the verify tier takes no times; profile does")
    assert [shape.hidden for shape in evaluation.shapes] == [False, True, True, True, True]
    assert evaluation.shapes[0].symbols == {"n": 4096}
    assert evaluation.shapes[0].cases == 7
    assert evaluation.shapes[1].symbols == {"n": 1}
    assert all(error.tolerance_ratio <= 1 for shape in evaluation.shapes for error in shape.errors)
    assert evaluation.isolation is not None
    assert evaluation.isolation.confined


def test_hidden_shapes_differ_from_call_to_call(evaluate: Judgement) -> None:
    seen = {tuple(shape.symbols["n"] for shape in evaluate(cpp(RIGHT)).shapes[2:]) for _ in range(4)}
    assert len(seen) > 1


def test_a_candidate_that_does_many_times_the_work_is_slower(evaluate: Judgement, affine: Task) -> None:
    # The barrier keeps the compiler from merging the passes.
    body = f'    for (int pass = 0; pass < 32; ++pass) {{ {RIGHT} __asm__ volatile("" ::: "memory"); }}'
    large = affine.model_copy(update={"shapes": ({"n": 65536},)})
    evaluation = evaluate(cpp(body), Tier.PROFILE, large)
    assert isinstance(evaluation.timing, MeasuredTiming)
    assert evaluation.verdict is Verdict.SLOWER, evaluation.timing
    shape = evaluation.shapes[0].timing
    assert shape is not None
    assert shape.samples >= 3 * shape.pairs
    assert shape.ratio_low <= shape.time_ratio <= shape.ratio_high
    assert all(entry.timing is None for entry in evaluation.shapes if entry.hidden)


def test_a_wrong_baseline_is_the_tasks_fault(evaluate: Judgement, affine: Task) -> None:
    broken = affine.model_copy(update={"seed": cpp("    y[0] = 0;")})
    with pytest.raises(ConfigError, match="its baseline fails: y is wrong"):
        evaluate(cpp(RIGHT), Tier.PROFILE, broken)


def test_a_reference_that_raises_is_the_tasks_fault(evaluate: Judgement, affine: Task) -> None:
    reference = FunctionReference(
        path="reference.py", source="def affine(x):\n    return x.nonsense()\n", function="affine"
    )
    with pytest.raises(ConfigError, match=r"reference.py: the reference failed: AttributeError"):
        evaluate(cpp(RIGHT), Tier.VERIFY, affine.model_copy(update={"reference": reference}))


def test_the_reference_can_be_the_baseline(evaluate: Judgement, affine: Task) -> None:
    update = {"baseline": "reference", "shapes": ({"n": 65536},)}
    evaluation = evaluate(cpp(RIGHT), Tier.PROFILE, affine.model_copy(update=update))
    assert isinstance(evaluation.timing, MeasuredTiming)
    assert evaluation.verdict is Verdict.FASTER, evaluation.timing


@pytest.mark.parametrize("name", ["swish.cpp", "model_new.py"])
def test_the_swish_example_passes_as_cpp_and_as_model_new(evaluate: Judgement, name: str) -> None:
    folder = EXAMPLES / "swish_kernelbench"
    task = load_task(f"kernelbench-cpu:{folder / 'problem.py'}")
    evaluation = evaluate(load_candidate(folder / name, None), Tier.VERIFY, task)
    assert evaluation.status is Status.PASSED, evaluation.message


def test_kernelbench_parameters_are_randomised_and_handed_over(evaluate: Judgement, tmp_path: Path) -> None:
    problem = tmp_path / "linear.py"
    problem.write_text(LINEAR, encoding="utf-8")
    task = load_task(f"kernelbench-cpu:{problem}")
    right = LINEAR.replace("class Model(", "class ModelNew(")
    assert evaluate(pytorch(right), Tier.VERIFY, task).status is Status.PASSED
    # LayerNorm's parameters are ones and zeros after construction: leaving them out must not pass.
    lazy = right.replace("self.norm(self.scale(x))", "nn.functional.layer_norm(self.scale(x), (3,))")
    assert evaluate(pytorch(lazy), Tier.VERIFY, task).status is Status.INCORRECT_VALUES
    other = right.replace("nn.Linear(width, 3", "nn.Linear(width, 4").replace("LayerNorm(3)", "LayerNorm(4)")
    assert evaluate(pytorch(other), Tier.VERIFY, task).status is Status.CONSTRAINT_VIOLATION


def test_every_diagnostic_of_the_compiler_is_kept_as_an_artifact(evaluate: Judgement) -> None:
    evaluation = evaluate(Candidate(language=Language.CPP, source="nonsense"), Tier.COMPILE)
    assert [artifact.name for artifact in evaluation.artifacts] == ["compile.log"]
    passed = evaluate(cpp(RIGHT), Tier.COMPILE)
    assert [artifact.name for artifact in passed.artifacts] == ["candidate.so"]


@pytest.mark.parametrize("threads", [1, 2])
def test_openmp_gets_as_many_threads_as_the_task_allows(evaluate: Judgement, affine: Task, threads: int) -> None:
    constraints = affine.constraints.model_copy(update={"threads": threads, "compiler_flags": ("-fopenmp",)})
    body = f"""
    if (omp_get_max_threads() != {threads}) return 9;
    #pragma omp parallel for
    {RIGHT.strip()}"""
    evaluation = evaluate(
        cpp(body, "#include <omp.h>"), Tier.VERIFY, affine.model_copy(update={"constraints": constraints})
    )
    assert evaluation.status is Status.PASSED, evaluation.message


HEAP = """\
import ctypes


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in "arena ordblks smblks hblks hblkhd".split()] + [
        ("others", ctypes.c_int * 5)
    ]


class ModelNew:
    def __init__(self):
        libc = ctypes.CDLL(None)
        libc.mallinfo.restype = Mallinfo
        libc.malloc.restype = ctypes.c_void_p
        before = libc.mallinfo().hblks
        if not libc.malloc(8 << 20) or libc.mallinfo().hblks != before:
            raise RuntimeError("eight megabytes come fresh from the kernel, and go back to it when they are freed")

    def __call__(self, x):
        return x * 2 + 1
"""


def test_what_a_candidate_frees_it_gets_again_from_its_first_call_on(evaluate: Judgement) -> None:
    evaluation = evaluate(pytorch(HEAP))
    assert evaluation.status is Status.PASSED, evaluation.message
