"""The evaluator: answers once from the judge and then from the store, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from affine_task import RIGHT, cpp
from kernelguild.memory.errors import ConfigError, HarnessError, UnavailableError
from kernelguild.memory.schema import Candidate, FunctionReference, Status, Task, Tier
from kernelguild.memory.store import open_store
from kernelguild.tools.evaluator import Evaluator, open_evaluator
from kernelguild.tools.judge.executor import LocalExecutor
from kernelguild.tools.judge.request import EvaluationRequest, Progress

pytestmark = pytest.mark.anyio

HANG = "    for (volatile int spin = 0;; ) spin = spin + 1;"


async def test_the_same_question_is_answered_from_the_store_and_fresh_adds_a_verdict(
    tmp_path: Path, affine: Task
) -> None:
    async with open_store(tmp_path / "home") as store, open_evaluator(store) as evaluator:
        first = await evaluator.evaluate(affine, cpp(RIGHT), Tier.VERIFY)
        assert await evaluator.evaluate(affine, cpp(RIGHT), Tier.VERIFY) == first
        again = await evaluator.evaluate(affine, cpp(RIGHT), Tier.VERIFY, fresh=True)
        assert again.id != first.id
        assert again.key == first.key
        assert await store.evaluations.get(first.id) == first
        assert await store.candidates.get(first.candidate_id) == cpp(RIGHT)
        assert (await store.tasks.get(first.task_id)).name == affine.name
        assert store.blobs.get(first.artifacts[0].digest).startswith(b"\x7fELF")


async def test_a_cancelled_evaluation_stops_its_worker_and_the_next_one_works(tmp_path: Path, affine: Task) -> None:
    patient = affine.model_copy(update={"constraints": affine.constraints.model_copy(update={"call_timeout_s": 300.0})})
    async with open_store(tmp_path / "home") as store, open_evaluator(store) as evaluator:
        checking = anyio.Event()

        async def notice(progress: Progress) -> None:
            if progress.message == "checking correctness":
                checking.set()

        async def hang() -> None:
            await evaluator.evaluate(patient, cpp(HANG), Tier.VERIFY, progress=notice)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(hang)
                await checking.wait()
                group.cancel_scope.cancel()
            assert _judges() == []
            assert (await evaluator.evaluate(affine, cpp(RIGHT), Tier.VERIFY)).status is Status.PASSED


async def test_two_evaluations_run_at_once_and_both_finish(tmp_path: Path, affine: Task) -> None:
    statuses: list[Status] = []
    async with open_store(tmp_path / "home") as store, open_evaluator(store) as evaluator:

        async def profile(candidate: Candidate) -> None:
            statuses.append((await evaluator.evaluate(affine, candidate, Tier.PROFILE)).status)

        async with anyio.create_task_group() as group:
            group.start_soon(profile, cpp(RIGHT))
            group.start_soon(profile, cpp(RIGHT + "\n    (void)n;"))
    assert statuses == [Status.PASSED, Status.PASSED]
    assert _judges() == []


async def test_a_judge_that_dies_is_a_harness_error_and_is_not_kept(tmp_path: Path, affine: Task) -> None:
    suicidal = FunctionReference(
        path="reference.py", source="import os\n\ndef affine(x):\n    os._exit(9)\n", function="affine"
    )
    broken = affine.model_copy(update={"reference": suicidal})
    async with open_store(tmp_path / "home") as store, open_evaluator(store) as evaluator:
        with pytest.raises(HarnessError, match="the judge process died"):
            await evaluator.evaluate(broken, cpp(RIGHT), Tier.VERIFY)
        assert await store.evaluations.recent(10) == []
        assert (await evaluator.evaluate(affine, cpp(RIGHT), Tier.VERIFY)).status is Status.PASSED


async def test_the_judge_does_not_inherit_secrets(tmp_path: Path, affine: Task) -> None:
    reference = FunctionReference(
        path="reference.py",
        source="import os\n\ndef affine(x):\n    raise RuntimeError(sorted(os.environ))\n",
        function="affine",
    )
    async with open_store(tmp_path / "home") as store:
        executor = LocalExecutor(1, {**os.environ, "SECRET_API_KEY": "x"})
        evaluator = Evaluator(store, executor)
        try:
            with pytest.raises(ConfigError) as caught:
                await evaluator.evaluate(affine.model_copy(update={"reference": reference}), cpp(RIGHT), Tier.VERIFY)
        finally:
            await executor.end()
    assert "'PATH'" in str(caught.value)
    assert "SECRET_API_KEY" not in str(caught.value)


async def test_without_torch_the_judge_says_how_to_get_it(tmp_path: Path, affine: Task) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch', name='torch')\n", encoding="utf-8")
    async with open_store(tmp_path / "home") as store:
        search_path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
        executor = LocalExecutor(1, {**os.environ, "PYTHONPATH": search_path})
        with pytest.raises(UnavailableError, match=r"needs torch.*pip install 'kernelguild\[torch\]'"):
            await Evaluator(store, executor).evaluate(affine, cpp(RIGHT), Tier.VERIFY)
        await executor.end()


async def test_a_request_survives_its_way_through_json(affine: Task) -> None:
    request = EvaluationRequest(task=affine, candidate=cpp(RIGHT), tier=Tier.PROFILE)
    assert EvaluationRequest.model_validate_json(request.model_dump_json()) == request
    assert EvaluationRequest.model_validate_json(request.model_dump_json()).task.id == affine.id


def _judges() -> list[str]:
    """Judge and zygote processes that this test process started and that still run."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            parent = (process / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
            command = (process / "cmdline").read_bytes().decode()
        except (OSError, IndexError):
            continue
        if parent == str(os.getpid()) and "kernelguild.tools.judge.main" in command:
            found.append(command)
    return found


@pytest.mark.parametrize("missing", ["cuda", "pynvml", "triton"])
def test_the_judge_of_cpp_kernels_needs_no_gpu_packages(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import kernelguild.tools.judge.judge"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
