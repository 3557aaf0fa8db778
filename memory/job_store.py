"""Jobs: the row survives a restart of the server, the work does not."""

from __future__ import annotations

import builtins
import json
import secrets

from .database import Database
from .errors import ConflictError, NotFoundError
from .processes import find_process, this_process
from .schema import Job, JobStatus


class JobStore:
    """Jobs of every server on this home. A job ends exactly once; whoever comes later gets a ConflictError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, tool: str, summary: str, *, at_s: float) -> Job:
        """A running job, owned by the calling process."""
        job = Job(
            id=secrets.token_hex(8),
            tool=tool,
            summary=summary,
            status=JobStatus.RUNNING,
            owner=this_process(),
            created_at_s=at_s,
            updated_at_s=at_s,
        )
        await self._database.texts(
            "INSERT INTO jobs (id, status, record) VALUES (?, ?, ?)", job.id, job.status.value, job.model_dump_json()
        )
        return job

    async def finish(self, job_id: str, result_json: str, *, at_s: float) -> Job:
        """End it with a result.

        Raises:
            NotFoundError: no such job.
            ConflictError: it has ended already.
        """
        return await self._end(job_id, {"status": JobStatus.DONE, "result_json": result_json}, at_s=at_s)

    async def fail(self, job_id: str, error: str, *, at_s: float) -> Job:
        """End it with an error; raises as `finish` does."""
        return await self._end(job_id, {"status": JobStatus.FAILED, "error": error}, at_s=at_s)

    async def cancel(self, job_id: str, *, at_s: float) -> Job:
        """End it without either; raises as `finish` does. Stopping the work is the owner's part."""
        return await self._end(job_id, {"status": JobStatus.CANCELLED}, at_s=at_s)

    async def get(self, job_id: str) -> Job:
        """The job.

        Raises:
            NotFoundError: no such job.
        """
        found = await self._database.records(Job, "SELECT record FROM jobs WHERE id = ?", job_id)
        if not found:
            raise NotFoundError(f"no job has the id {job_id!r}")
        return found[0]

    async def list(self, limit: int) -> builtins.list[Job]:
        """The last `limit` jobs, the newest first."""
        return await self._database.records(Job, "SELECT record FROM jobs ORDER BY position DESC LIMIT ?", limit)

    async def recover(self, *, at_s: float) -> builtins.list[Job]:
        """Mark as lost what is running in no process any more; the jobs that this call marked.

        Servers that share a home must see each other's processes: one PID namespace.
        """
        running = await self._database.records(
            Job, "SELECT record FROM jobs WHERE status = ? ORDER BY position", JobStatus.RUNNING.value
        )
        lost = []
        for job in running:
            if find_process(job.owner.pid) != job.owner:
                error = f"the server that worked on it (process {job.owner.pid}) is gone; call {job.tool} again"
                lost += await self._end_if_running(job.id, {"status": JobStatus.LOST, "error": error}, at_s=at_s)
        return lost

    async def _end(self, job_id: str, change: dict[str, str], *, at_s: float) -> Job:
        ended = await self._end_if_running(job_id, change, at_s=at_s)
        if not ended:
            job = await self.get(job_id)
            raise ConflictError(f"job {job_id} cannot become {change['status']}: it is {job.status.value} already")
        return ended[0]

    async def _end_if_running(self, job_id: str, change: dict[str, str], *, at_s: float) -> builtins.list[Job]:
        """Change fields of the job in one statement, so that of two ends only the first one counts."""
        patch = json.dumps({**change, "updated_at_s": at_s})
        return await self._database.records(
            Job,
            "UPDATE jobs SET status = ?, record = json_patch(record, ?) WHERE id = ? AND status = ? RETURNING record",
            change["status"],
            patch,
            job_id,
            JobStatus.RUNNING,
        )
