"""Work that a call does not wait for, in both protocol eras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from kernelguild.memory.schema import JobStatus
from scripted_judge import BOUND_S, ERAS, TASK, Bench, bench, facts_of, stored, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

HANGING = {"task": TASK, "source": "HANG", "wait_s": 0}


async def start_job(client: Client, served: Bench, tool: str = "verify") -> str:
    """A job whose judgement hangs until the gate opens; its id."""
    facts = facts_of(await client.call_tool(tool, HANGING))
    assert facts["status"] == "running"
    assert facts["poll_after_s"] > 0
    with anyio.fail_after(BOUND_S):
        await served.executor.started.wait()
    return str(facts["job_id"])


async def ask(client: Client, action: str, job_id: str, wait_s: int = 5) -> dict[str, Any]:
    """The facts of a job call."""
    return facts_of(await client.call_tool("job", {"action": action, "job_id": job_id, "wait_s": wait_s}))


async def test_long_work_answers_with_a_job_whose_result_is_the_tools_own(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        running = facts_of(await client.call_tool("verify", HANGING))
        assert f'job_id="{running["job_id"]}"' in running["next_steps"][0]
        assert (await ask(client, "result", running["job_id"], wait_s=0))["status"] == "running"
        served.executor.gate.set()
        result = await ask(client, "result", running["job_id"])
        again = facts_of(await client.call_tool("verify", {"task": TASK, "source": "HANG"}))
        listed = facts_of(await client.call_tool("job", {"action": "list"}))["jobs"]
    assert result["status"] == "passed"
    assert result == again
    assert [(job["job_id"], job["status"], job["tool"]) for job in listed] == [(running["job_id"], "done", "verify")]


async def test_a_running_job_says_how_far_it_is(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)
        status = await ask(client, "status", job_id)
    assert (status["status"], status["progress"]) == ("running", "compiled")


async def test_a_call_that_joins_a_running_question_starts_no_second_judgement(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        first = await start_job(client, served)
        second = facts_of(await client.call_tool("verify", HANGING))
    assert second["job_id"] == first
    assert len(served.executor.requests) == 1


async def test_a_cancelled_call_stops_its_work(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "verify", {"task": TASK, "source": "HANG"})
            with anyio.fail_after(BOUND_S):
                await served.executor.started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(BOUND_S):
            await served.executor.stopped.wait()
        assert facts_of(await client.call_tool("job", {"action": "list"}))["jobs"] == []


async def test_a_cancelled_call_leaves_the_job_that_it_waited_for_alone(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)
        with pytest.raises(MCPError):
            await client.call_tool("job", {"action": "result", "job_id": job_id}, read_timeout_seconds=0.1)
        assert not served.executor.stopped.is_set()
        served.executor.gate.set()
        assert (await ask(client, "result", job_id))["status"] == "passed"


async def test_cancelling_a_job_stops_its_work_for_good(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)
        cancelled = await ask(client, "cancel", job_id)
        assert served.executor.stopped.is_set()
        again = await ask(client, "cancel", job_id)
        result = await ask(client, "result", job_id)
    assert cancelled["status"] == again["status"] == result["status"] == "cancelled"
    assert "Call verify again" in cancelled["next_steps"][0]


async def test_the_calls_that_wait_for_a_cancelled_job_hear_of_it(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    answers: list[str] = []
    joined = anyio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        joined.set()

    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)

        async def wait() -> None:
            question = {"task": TASK, "source": "HANG"}
            result = await client.call_tool("verify", question, progress_callback=listen)
            answers.append(text_of(result))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            with anyio.fail_after(BOUND_S):
                await joined.wait()
            await ask(client, "cancel", job_id)
    assert answers == ["it was cancelled before it ended; call again to start anew"]


async def test_a_job_that_fails_keeps_the_reason(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    served.executor.fail_after_gate = True
    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)
        served.executor.gate.set()
        result = await ask(client, "result", job_id)
    assert result["status"] == "failed"
    assert "itself failed, not the kernel" in result["message"]


async def test_work_ends_with_the_server_and_its_row_stays_open(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        job_id = await start_job(client, served)
    assert served.executor.stopped.is_set()
    later = bench(tmp_path)
    async with Client(later.app, mode=era):
        assert (await (await stored(later)).jobs.get(job_id)).status is JobStatus.RUNNING


@pytest.mark.parametrize("action", ["status", "result", "cancel"])
async def test_a_job_that_does_not_exist_is_said_so(era: Any, action: str, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        unknown = await client.call_tool("job", {"action": action, "job_id": "0" * 16})
        unnamed = await client.call_tool("job", {"action": action})
    assert "no job has the id" in text_of(unknown)
    assert "needs a job_id" in text_of(unnamed)
