"""A job: long work that a tool call did not wait for."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from .base import Record, StoredRecord


class JobStatus(StrEnum):
    """How far a job is; all but `running` are final."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    """The process that worked on it is gone: the row survived, the work did not."""


class ProcessIdentity(Record):
    """One process of this machine; the start time tells it from a later one with the same pid."""

    pid: int = Field(ge=1)
    start_ticks: int = Field(ge=0)
    """Clock ticks between boot and the process's start."""


class Job(StoredRecord):
    """One job and, once it has ended, its result or the reason why there is none."""

    id: str = Field(pattern=r"^[0-9a-f]{16}$")
    tool: str
    """The tool that was called."""
    summary: str
    """What it was asked to do, in a line."""
    status: JobStatus
    result_json: str | None = None
    """The result as JSON text; present exactly when the job is done."""
    error: str | None = None
    """Why there is no result; present exactly when the job failed or was lost."""
    owner: ProcessIdentity
    """The process that does the work."""
    created_at_s: float
    updated_at_s: float

    @model_validator(mode="after")
    def _status_decides_the_fields(self) -> Job:
        if (self.result_json is not None) != (self.status is JobStatus.DONE):
            raise ValueError(f"result_json does not fit status {self.status.value}")
        if (self.error is not None) != (self.status in {JobStatus.FAILED, JobStatus.LOST}):
            raise ValueError(f"error does not fit status {self.status.value}")
        return self
