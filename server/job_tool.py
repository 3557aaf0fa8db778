"""The tool job: follow, read or stop work that a call did not wait for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from ..memory.clock import Clock
from ..memory.errors import ConflictError, InputError
from ..memory.schema import Job, JobStatus
from ..resources.running import ended, job_list, running
from .engine import Engine
from .judge_tools import DEFAULT_CHARS, DEFAULT_WAIT_S, Wait, judged, report_to
from .runs import JobResult
from .tool import answer, tool

LISTED_JOBS = 20
JOB = (
    "Follow a compile, verify or profile that answered status=running with a job id. "
    "result waits for the verdict; cancel stops the work."
)
Action = Annotated[
    Literal["status", "result", "cancel", "list"], Field(description="list needs no job_id; result waits wait_s")
]
JobId = Annotated[str, Field(description="From the running answer")]


class JobTool:
    """Jobs of this process are waited for; those of others are read from the store."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    def tool(self) -> Tool:
        return tool(self.job, JOB, idempotent=True)

    async def job(
        self, context: Context[Any, Any], action: Action, job_id: JobId = "", wait_s: Wait = DEFAULT_WAIT_S
    ) -> CallToolResult:
        if action == "list":
            return answer(job_list(await self._list(), self._clock.now_s()))
        if not job_id:
            raise InputError(f'action "{action}" needs a job_id: take it from the running answer or from action "list"')
        if action == "result":
            return await self._result(job_id, wait_s, context)
        if action == "cancel":
            return await self._cancel(job_id)
        return self._state(await self._row(job_id))

    async def _list(self) -> list[Job]:
        jobs = (await self._engine.services()).store.jobs
        listed = await jobs.list(LISTED_JOBS)
        if any(job.status is JobStatus.RUNNING for job in listed):
            await jobs.recover(at_s=self._clock.now_s())
            return await jobs.list(LISTED_JOBS)
        return listed

    async def _row(self, job_id: str) -> Job:
        jobs = (await self._engine.services()).store.jobs
        job = await jobs.get(job_id)
        if job.status is JobStatus.RUNNING:
            await jobs.recover(at_s=self._clock.now_s())
            return await jobs.get(job_id)
        return job

    async def _result(self, job_id: str, wait_s: float, context: Context[Any, Any]) -> CallToolResult:
        store = (await self._engine.services()).store
        await self._engine.runs.wait(job_id, wait_s, report_to(context))
        job = await self._row(job_id)
        if job.result_json is None:
            return self._state(job)
        evaluation = await store.evaluations.get(JobResult.model_validate_json(job.result_json).evaluation_id)
        candidate = await store.candidates.get(evaluation.candidate_id)
        return judged(evaluation, candidate.language, store, DEFAULT_CHARS)

    async def _cancel(self, job_id: str) -> CallToolResult:
        stopped = await self._engine.runs.cancel(job_id)
        job = await self._row(job_id)
        if not stopped and job.status is JobStatus.RUNNING:
            raise ConflictError(f"job {job_id} runs in another server (process {job.owner.pid}): cancel it there")
        return self._state(job)

    def _state(self, job: Job) -> CallToolResult:
        if job.status is not JobStatus.RUNNING:
            return answer(ended(job))
        progress = self._engine.runs.progress(job.id)
        return answer(running(job, progress.message if progress else None))
