"""Jobs end once, and a job whose server is gone is lost, not running for ever."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from kernelguild.memory.database import DATABASE_NAME
from kernelguild.memory.errors import ConflictError, NotFoundError
from kernelguild.memory.schema import JobStatus
from kernelguild.memory.store import Store, open_store
from worker_process import worker

pytestmark = pytest.mark.anyio
AT_S = 1732135000.1234567


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as opened:
        yield opened


async def test_a_job_runs_and_ends_with_its_result(store: Store) -> None:
    job = await store.jobs.create("profile", "softmax at 256 x 1024", at_s=1.0)
    assert (job.status, job.owner.pid) == (JobStatus.RUNNING, os.getpid())
    assert await store.jobs.get(job.id) == job
    result = '{"deep": {"null": null, "text": "é\\u0000"}, "big": 12345678901234567890}'
    done = await store.jobs.finish(job.id, result, at_s=AT_S)
    assert (done.status, done.result_json, done.error) == (JobStatus.DONE, result, None)
    assert (done.created_at_s, done.updated_at_s) == (1.0, AT_S)
    assert await store.jobs.get(job.id) == done


async def test_a_job_that_failed_says_why_and_a_cancelled_one_has_neither(store: Store) -> None:
    failed = await store.jobs.create("profile", "a", at_s=1.0)
    cancelled = await store.jobs.create("profile", "b", at_s=2.0)
    assert (await store.jobs.fail(failed.id, "no compiler", at_s=3.0)).error == "no compiler"
    assert (await store.jobs.cancel(cancelled.id, at_s=4.0)).status is JobStatus.CANCELLED
    listed = await store.jobs.list(10)
    assert [(job.id, job.status) for job in listed] == [
        (cancelled.id, JobStatus.CANCELLED),
        (failed.id, JobStatus.FAILED),
    ]
    assert await store.jobs.list(1) == listed[:1]


async def test_a_job_ends_once(store: Store) -> None:
    job = await store.jobs.create("profile", "a", at_s=1.0)
    await store.jobs.cancel(job.id, at_s=2.0)
    with pytest.raises(ConflictError, match=f"job {job.id} cannot become done: it is cancelled already"):
        await store.jobs.finish(job.id, "1", at_s=3.0)
    with pytest.raises(ConflictError, match="it is cancelled already"):
        await store.jobs.fail(job.id, "late", at_s=3.0)
    assert (await store.jobs.get(job.id)).updated_at_s == 2.0


async def test_an_unknown_job_is_not_found(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no job has the id '0123'"):
        await store.jobs.get("0123")
    with pytest.raises(NotFoundError, match="no job has the id '0123'"):
        await store.jobs.cancel("0123", at_s=1.0)


async def test_a_killed_servers_job_is_lost_and_a_live_ones_is_not(store: Store) -> None:
    own = await store.jobs.create("compile", "mine", at_s=1.0)
    with worker("own-a-job", store.home) as server:
        job_id = server.read_line()
        assert await store.jobs.recover(at_s=2.0) == []
        server.kill()
        [lost] = await store.jobs.recover(at_s=3.0)
    assert (lost.id, lost.status, lost.updated_at_s) == (job_id, JobStatus.LOST, 3.0)
    assert f"process {server.process.pid}) is gone; call profile again" in str(lost.error)
    assert await store.jobs.recover(at_s=4.0) == []
    assert (await store.jobs.get(own.id)).status is JobStatus.RUNNING


async def test_a_killed_server_that_nobody_has_waited_for_is_gone_too(store: Store) -> None:
    with worker("own-a-job", store.home) as server:
        job_id = server.read_line()
        server.kill_and_leave_unreaped()
        assert [job.id for job in await store.jobs.recover(at_s=2.0)] == [job_id]


async def test_a_reused_pid_is_not_mistaken_for_the_owner(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        job = await store.jobs.create("profile", "a", at_s=1.0)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection, connection:
        connection.execute(
            "UPDATE jobs SET record = json_set(record, '$.owner.start_ticks', ?)", [job.owner.start_ticks - 1]
        )
    async with open_store(tmp_path) as store:
        assert [lost.id for lost in await store.jobs.recover(at_s=2.0)] == [job.id]
