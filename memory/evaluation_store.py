"""The judge's verdicts. Two measurements of one key are two evaluations, side by side."""

from __future__ import annotations

from .database import Database
from .errors import NotFoundError, StoreError
from .schema import NOT_ABOUT_THE_CANDIDATE, Device, Evaluation


class EvaluationStore:
    """Evaluations by id and by key; nothing is ever replaced."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, evaluation: Evaluation) -> None:
        """Keep a verdict; its candidate must have been put before.

        Raises:
            StoreError: the status says nothing about the candidate, so that a later question must not be
                answered with it; the candidate is not stored; or the id is taken.
        """
        if evaluation.status in NOT_ABOUT_THE_CANDIDATE:
            raise StoreError(f"evaluation {evaluation.id}: status {evaluation.status.value} is never kept")
        await self._database.texts(
            "INSERT INTO evaluations (id, key, candidate_id, device_model, device_instance, record)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            evaluation.id,
            evaluation.key,
            evaluation.candidate_id,
            evaluation.device.model,
            evaluation.device.instance,
            evaluation.model_dump_json(),
        )

    async def get(self, evaluation_id: str) -> Evaluation:
        """The evaluation.

        Raises:
            NotFoundError: no evaluation has this id.
        """
        found = await self._database.records(Evaluation, "SELECT record FROM evaluations WHERE id = ?", evaluation_id)
        if not found:
            raise NotFoundError(f"no evaluation has the id {evaluation_id!r}")
        return found[0]

    async def latest(self, key: str) -> Evaluation | None:
        """The last answer to this question (`evaluation_key`), if there is one."""
        found = await self._database.records(
            Evaluation, "SELECT record FROM evaluations WHERE key = ? ORDER BY position DESC LIMIT 1", key
        )
        return found[0] if found else None

    async def recent(self, limit: int) -> list[Evaluation]:
        """The last `limit` evaluations, the newest first."""
        return await self._database.records(
            Evaluation, "SELECT record FROM evaluations ORDER BY position DESC LIMIT ?", limit
        )

    async def devices(self) -> list[Device]:
        """Every device that something was measured on, as it was last seen; in order of model and instance."""
        # SQLite takes the bare column from the row of the maximum.
        return await self._database.records(
            Device,
            "SELECT json_extract(record, '$.device'), max(position) FROM evaluations"
            " GROUP BY device_model, device_instance ORDER BY device_model, device_instance",
        )
