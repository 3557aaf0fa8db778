"""The log that every search lives in: an event is appended before it takes effect."""

from __future__ import annotations

from .database import Database
from .errors import ConflictError
from .schema import Event, EventBody


class EventLog:
    """The events of every search, each numbered from 1 without gaps, whoever writes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, search_id: str, body: EventBody, *, sequence: int, at_s: float) -> Event:
        """Append the event that the caller expects to be number `sequence`; durable when it returns.

        Raises:
            ConflictError: the log does not stand at `sequence - 1`: another coordinator writes it.
        """
        event = Event(search_id=search_id, sequence=sequence, at_s=at_s, body=body)
        appended = await self._database.texts(
            "INSERT INTO events (search_id, sequence, at_s, record) SELECT ?, ?, ?, ?"
            " WHERE ? = 1 + (SELECT coalesce(max(sequence), 0) FROM events WHERE search_id = ?)"
            " RETURNING sequence",
            search_id, sequence, at_s, event.model_dump_json(), sequence, search_id,
        )  # fmt: skip
        if not appended:
            last = await self._database.texts(
                "SELECT coalesce(max(sequence), 0) FROM events WHERE search_id = ?", search_id
            )
            raise ConflictError(
                f"search {search_id}: event {sequence} ({body.kind}) cannot follow event {last[0]}:"
                " another process runs this search; let it end, or stop it and resume"
            )
        return event

    async def read(self, search_id: str, after: int = 0) -> list[Event]:
        """The events whose sequence is above `after`, in order; none for a search that does not exist."""
        return await self._database.records(
            Event,
            "SELECT record FROM events WHERE search_id = ? AND sequence > ? ORDER BY sequence",
            search_id,
            after,
        )

    async def search_ids(self) -> list[str]:
        """Every search, in the order in which they started."""
        return await self._database.texts("SELECT search_id FROM events WHERE sequence = 1 ORDER BY at_s, search_id")
