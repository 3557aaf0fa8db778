"""Tasks that are easy to cheat: refused where a constant passes, named where something does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from affine_task import Judgement, cpp, pytorch, write_task
from kernelguild.memory.errors import ConfigError
from kernelguild.memory.schema import Evaluation, FunctionReference, InputSpec, Task, Tier
from kernelguild.tools.tasks import load_task

ANY = "class ModelNew:\n    def __init__(self, *args): pass\n    def __call__(self, x, *rest): return x\n"
NORM = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Parameter(torch.ones(8))
        self.idle = nn.Parameter(torch.ones(8))

    def forward(self, x, z):
        return x * self.used + 0 * z


def get_inputs():
    return [torch.rand(16, 8), torch.rand(16, 8)]


def get_init_inputs():
    return []
"""


def _with(task: Task, body: str) -> Task:
    reference = FunctionReference(path="reference.py", source=f"def affine(x):\n    return {body}\n", function="affine")
    return task.model_copy(update={"reference": reference})


def _findings(evaluation: Evaluation) -> dict[str, str]:
    return {finding.kind: finding.evidence for finding in evaluation.findings}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("0 * x + 3", r"hardly depends on its inputs.*0\.00% of 4096 elements of y.*a constant passes"),
        ("x * 1e-9 + 1", "a constant passes"),
        ("(x - 1000).clamp(min=0)", r"every element of y is zero.*at n=4096, so zeros pass"),
    ],
)
def test_a_task_that_a_constant_passes_is_refused(evaluate: Judgement, affine: Task, body: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"task affine: .*{said}"):
        evaluate(cpp(""), Tier.COMPILE, _with(affine, body))


def test_a_task_that_hangs_on_its_input_has_no_findings(evaluate: Judgement) -> None:
    assert evaluate(cpp("    y[0] = 1;")).findings == ()


def test_an_output_that_mostly_stays_is_named_with_its_share(evaluate: Judgement, affine: Task) -> None:
    rare = _with(affine, "1 + (x - 1.8).clamp(min=0)")
    findings = _findings(evaluate(cpp("    y[0] = 1;"), Tier.VERIFY, rare))
    assert "of 4096 elements leave the tolerance" in findings["task_insensitive_output"]


def test_an_input_that_does_not_matter_is_named(evaluate: Judgement, affine: Task, tmp_path: Path) -> None:
    source = "def affine(x, bias):\n    return 2 * x + 0 * bias\n"
    task = load_task(write_task(tmp_path)).model_copy(
        update={
            "reference": FunctionReference(path="reference.py", source=source, function="affine"),
            "inputs": (*affine.inputs, InputSpec(name="bias", dtype="float32", shape=("n",))),
        }
    )
    findings = _findings(evaluate(pytorch(ANY), Tier.VERIFY, task))
    assert findings == {
        "task_unused_input": "input bias does not matter: drawn anew, it moves no element of any output"
    }


def test_inputs_and_parameters_of_a_kernelbench_problem_are_looked_at(evaluate: Judgement, tmp_path: Path) -> None:
    problem = tmp_path / "norm.py"
    problem.write_text(NORM, encoding="utf-8")
    evaluation = evaluate(
        pytorch(NORM.replace("Model(", "ModelNew(")), Tier.VERIFY, load_task(f"kernelbench-cpu:{problem}")
    )
    findings = _findings(evaluation)
    assert evaluation.status.value == "passed"
    assert "input input1 does not matter" in findings["task_unused_input"]
    assert findings["task_unused_parameter"].endswith(": idle")
