"""Jobs as facts: what runs, what ended, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..memory.schema import Job, JobStatus
from .result import rounded

POLL_AFTER_S = 5


def running(job: Job, progress: str | None) -> dict[str, Any]:
    """A job that goes on."""
    facts: dict[str, Any] = {
        "status": job.status.value,
        "job_id": job.id,
        "tool": job.tool,
        "summary": job.summary,
        "poll_after_s": POLL_AFTER_S,
    }
    if progress:
        facts["progress"] = progress
    facts["next_steps"] = [f'Call job with action="result" and job_id="{job.id}": it waits for the verdict.']
    return facts


def ended(job: Job) -> dict[str, Any]:
    """A job that ended without a result, or whose result is asked for separately."""
    facts: dict[str, Any] = {
        "status": job.status.value,
        "job_id": job.id,
        "tool": job.tool,
        "summary": job.summary,
    }
    if job.error:
        facts["message"] = job.error
    facts["next_steps"] = [_after(job)]
    return facts


def job_list(jobs: Sequence[Job], now_s: float) -> dict[str, Any]:
    """The last jobs, newest first."""
    return {
        "jobs": [
            {
                "job_id": job.id,
                "status": job.status.value,
                "tool": job.tool,
                "summary": job.summary,
                "age_s": rounded(max(0.0, now_s - job.created_at_s)),
            }
            for job in jobs
        ]
    }


def _after(job: Job) -> str:
    if job.status is JobStatus.DONE:
        return f'Call job with action="result" and job_id="{job.id}" to read the verdict.'
    return f"Call {job.tool} again with the same source and task: verdicts that were finished come from the store."
