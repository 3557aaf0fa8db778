"""Judgements in progress: a call waits for one within bounds, then it goes on as a job."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from ..memory.clock import Clock
from ..memory.errors import ConflictError, StoreError
from ..memory.schema import Candidate, ContentId, Evaluation, Job, Record, Task, Tier
from ..tools.judge.request import Progress
from .explain import ExplainedError, explain
from .services import LazyServices

Report = Callable[[Progress], Awaitable[None]]
logger = logging.getLogger(__name__)


class JobResult(Record):
    """What a finished job's row keeps: the evaluation itself is in the store."""

    evaluation_id: ContentId


@dataclass(frozen=True)
class JudgeRequest:
    """One question to the judge."""

    task: Task
    candidate: Candidate
    tier: Tier
    fresh: bool

    @property
    def key(self) -> tuple[str, str, Tier]:
        return self.task.id, self.candidate.id, self.tier


@dataclass
class Run:
    """One judgement; `changed` is replaced at every change, so that any number of calls can wait for the next one."""

    request: JudgeRequest
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    changed: anyio.Event = field(default_factory=anyio.Event)
    progress: Progress | None = None
    waiters: int = 0
    job: Job | None = None
    ended: bool = False
    evaluation: Evaluation | None = None
    failure: str | None = None
    """Why there is no evaluation, in words for the caller."""

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


class Runs:
    """The judgements of this process; they live in a task group that outlives the calls."""

    def __init__(self, services: LazyServices, task_group: TaskGroup, clock: Clock) -> None:
        self._services = services
        self._task_group = task_group
        self._clock = clock
        self._becoming = anyio.Lock()  # two calls that wait for one run must not give it two rows
        self._asked: dict[tuple[str, str, Tier], Run] = {}
        self._jobs: dict[str, Run] = {}

    async def judge(self, request: JudgeRequest, wait_s: float, report: Report) -> Evaluation | Job:
        """The evaluation, or after `wait_s` seconds the job that goes on. The job's row is durable by then.

        A call that is cancelled before it became a job takes its judgement with it, unless another call waits for it.

        Raises:
            KernelguildError: the judge could not answer.
        """
        run = self._start(request)
        run.waiters += 1
        try:
            with anyio.move_on_after(wait_s):
                await self._follow(run, report)
            if not run.ended:
                await self._become_job(run)
        finally:
            run.waiters -= 1
            if not run.ended and run.job is None and run.waiters == 0:
                self._stop(run)
        return _outcome(run)

    async def wait(self, job_id: str, wait_s: float, report: Report) -> None:
        """Wait until the job's row is closed, `wait_s` at most; no time at all for a job of another process."""
        run = self._jobs.get(job_id)
        if run is None:
            return
        with anyio.move_on_after(wait_s):
            await self._follow(run, report)
            await self._closed(job_id, run)

    def progress(self, job_id: str) -> Progress | None:
        """The last that was heard of a running job of this process."""
        run = self._jobs.get(job_id)
        return run.progress if run else None

    async def cancel(self, job_id: str) -> bool:
        """Stop a job's work and wait until its row says so; False where this process does not work on it."""
        run = self._jobs.get(job_id)
        if run is None:
            return False
        self._stop(run)
        await self._closed(job_id, run)
        return True

    async def _closed(self, job_id: str, run: Run) -> None:
        while job_id in self._jobs:
            await run.changed.wait()

    def _start(self, request: JudgeRequest) -> Run:
        run = None if request.fresh else self._asked.get(request.key)
        if run is None:
            run = Run(request)
            if not request.fresh:
                self._asked[request.key] = run
            self._task_group.start_soon(self._work, run)
        return run

    def _stop(self, run: Run) -> None:
        self._forget(run)
        run.scope.cancel()

    def _forget(self, run: Run) -> None:
        """Nobody joins it from now on."""
        if self._asked.get(run.request.key) is run:
            del self._asked[run.request.key]

    async def _work(self, run: Run) -> None:
        async def remember(progress: Progress) -> None:
            run.progress = progress
            run.notify()

        request = run.request
        try:
            with run.scope:
                services = await self._services.get()
                run.evaluation = await services.evaluator.evaluate(
                    request.task, request.candidate, request.tier, fresh=request.fresh, progress=remember
                )
        # Whatever it is belongs to the calls that wait; here it would take down every other judgement.
        except Exception as error:  # noqa: BLE001 - see above
            run.failure = explain(error)
        finally:
            await self._end(run)

    async def _end(self, run: Run) -> None:
        run.ended = True
        self._forget(run)
        if run.job is not None:
            await self._close_row(run, run.job)
        run.notify()

    async def _follow(self, run: Run, report: Report) -> None:
        reported: Progress | None = None
        while not run.ended:
            if run.progress is not None and run.progress is not reported:
                reported = run.progress
                await report(reported)
            else:
                await run.changed.wait()

    async def _become_job(self, run: Run) -> None:
        # Shielded: a row without a run would look like work in progress for as long as this process lives.
        with anyio.CancelScope(shield=True):
            async with self._becoming:
                if run.job is None:
                    await self._write_row(run)

    async def _write_row(self, run: Run) -> None:
        jobs = (await self._services.get()).store.jobs
        request = run.request
        summary = f"{request.candidate.id} ({request.candidate.language.value}) for {request.task.name}"
        run.job = await jobs.create(request.tier.value, summary, at_s=self._clock.now_s())
        self._jobs[run.job.id] = run
        if run.ended:
            await self._close_row(run, run.job)

    async def _close_row(self, run: Run, job: Job) -> None:
        """Write how it ended. Where the whole server stops, the row stays open: the next reader finds it lost."""
        with anyio.CancelScope(shield=True):
            jobs = (await self._services.get()).store.jobs
            now_s = self._clock.now_s()
            try:
                if run.evaluation is not None:
                    result = JobResult(evaluation_id=run.evaluation.id)
                    await jobs.finish(job.id, result.model_dump_json(), at_s=now_s)
                elif run.failure is not None:
                    await jobs.fail(job.id, run.failure, at_s=now_s)
                elif run.scope.cancelled_caught:
                    await jobs.cancel(job.id, at_s=now_s)
            except (ConflictError, StoreError) as error:
                logger.error("job %s: %s", job.id, error)
        del self._jobs[job.id]


def _outcome(run: Run) -> Evaluation | Job:
    if run.evaluation is not None:
        return run.evaluation
    if run.failure is not None:
        raise ExplainedError(run.failure)
    if run.ended:
        raise ConflictError("it was cancelled before it ended; call again to start anew")
    assert run.job is not None, "whoever stops waiting has made it a job"
    return run.job
