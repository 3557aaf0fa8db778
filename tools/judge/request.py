"""The words between an executor and a judge process: one request in, progress and one reply out."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

from pydantic import Field

from ...memory.schema import Candidate, Evaluation, Record, Task, Tier


class EvaluationRequest(Record):
    """Everything that a verdict depends on; the judge reads nothing else."""

    task: Task
    candidate: Candidate
    tier: Tier


class Progress(Record):
    """How far an evaluation is."""

    kind: Literal["progress"] = "progress"
    done: float
    total: float
    message: str


class Judged(Record):
    """The verdict and the content of its artifacts, base64, in the order of `evaluation.artifacts`."""

    kind: Literal["judged"] = "judged"
    evaluation: Evaluation
    contents: tuple[str, ...]

    def artifact_bytes(self) -> list[bytes]:
        return [base64.b64decode(content) for content in self.contents]


class Refused(Record):
    """No verdict: the task is wrong, this host cannot do it, or the judge broke."""

    kind: Literal["refused"] = "refused"
    reason: Literal["input", "unavailable", "harness"]
    message: str


Reply = Annotated[Progress | Judged | Refused, Field(discriminator="kind")]
