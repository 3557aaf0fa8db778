"""A warm judge for the whole run, and small tasks to judge with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from affine_task import Judgement, write_task
from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import Candidate, Evaluation, Task, Tier
from kernelguild.tools.judge.bench import Bench
from kernelguild.tools.judge.judge import Judge
from kernelguild.tools.judge.probe import probe
from kernelguild.tools.judge.request import EvaluationRequest
from kernelguild.tools.tasks import load_task


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run's judge keeps the extensions that it builds."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="session")
def judge(kept: Path) -> Iterator[Judge]:
    with Bench(probe()) as bench:
        yield Judge(bench, SystemClock(), kept)


@pytest.fixture
def affine(tmp_path: Path) -> Task:
    return load_task(write_task(tmp_path))


@pytest.fixture
def evaluate(judge: Judge, affine: Task) -> Judgement:
    """Judge a candidate of the affine task."""

    def run(candidate: Candidate, tier: Tier = Tier.VERIFY, task: Task | None = None) -> Evaluation:
        request = EvaluationRequest(task=task or affine, candidate=candidate, tier=tier)
        return judge.evaluate(request, lambda progress: None).evaluation

    return run
