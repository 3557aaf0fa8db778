"""Everything that a home holds, behind one object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from .blobs import BlobStore
from .candidate_store import CandidateStore
from .database import open_database
from .evaluation_store import EvaluationStore
from .event_log import EventLog
from .job_store import JobStore
from .task_store import TaskStore


@dataclass(frozen=True)
class Store:
    """The stores of one home. An awaited write that returned is committed; several processes may write at once."""

    home: Path
    tasks: TaskStore
    candidates: CandidateStore
    evaluations: EvaluationStore
    events: EventLog
    jobs: JobStore
    blobs: BlobStore


@asynccontextmanager
async def open_store(home: Path) -> AsyncIterator[Store]:
    """Open the home, creating or migrating it where needed.

    Raises:
        StoreError: the home cannot be written, or its file is no database or one of a newer version.
    """
    async with open_database(home) as database:
        yield Store(
            home=home,
            tasks=TaskStore(database),
            candidates=CandidateStore(database),
            evaluations=EvaluationStore(database),
            events=EventLog(database),
            jobs=JobStore(database),
            blobs=BlobStore(home / "blobs"),
        )
