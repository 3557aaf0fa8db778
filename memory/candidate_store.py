"""The candidates that were ever judged or proposed, by the hash of their content."""

from __future__ import annotations

from .database import Database
from .errors import NotFoundError
from .schema import Candidate


class CandidateStore:
    """Candidates by id; equal content is kept once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, candidate: Candidate) -> None:
        """Keep the candidate; putting it again changes nothing."""
        await self._database.texts(
            "INSERT INTO candidates (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
            candidate.id,
            candidate.model_dump_json(),
        )

    async def get(self, candidate_id: str) -> Candidate:
        """The candidate.

        Raises:
            NotFoundError: no candidate has this id.
        """
        found = await self._database.records(Candidate, "SELECT record FROM candidates WHERE id = ?", candidate_id)
        if not found:
            raise NotFoundError(f"no candidate has the id {candidate_id!r}")
        return found[0]
