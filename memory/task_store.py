"""The tasks that were ever worked on."""

from __future__ import annotations

import builtins
import difflib

from .database import Database
from .errors import NotFoundError
from .schema import Task

MAX_NAMES_SHOWN = 5


class TaskStore:
    """Tasks by id and by name. Tasks that differ in name, wording or template alone share an id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, task: Task) -> None:
        """Keep the task; wording and template of the same id and name are replaced."""
        await self._database.texts(
            "INSERT INTO tasks (id, name, position, record)"
            " VALUES (?, ?, (SELECT coalesce(max(position), 0) + 1 FROM tasks), ?)"
            " ON CONFLICT (id, name) DO UPDATE SET position = excluded.position, record = excluded.record",
            task.id,
            task.name,
            task.model_dump_json(),
        )

    async def get(self, task_id: str) -> Task:
        """The task as it was last put under this id.

        Raises:
            NotFoundError: no task has this id.
        """
        found = await self._database.records(
            Task, "SELECT record FROM tasks WHERE id = ? ORDER BY position DESC LIMIT 1", task_id
        )
        if not found:
            raise NotFoundError(f"no task has the id {task_id!r}; task names work too")
        return found[0]

    async def find(self, name: str) -> Task:
        """The newest task of this name.

        Raises:
            NotFoundError: no task has this name; the message lists the nearest names.
        """
        found = await self._database.records(
            Task, "SELECT record FROM tasks WHERE name = ? ORDER BY position DESC LIMIT 1", name
        )
        if not found:
            raise NotFoundError(f"no task is named {name!r} ({await self._nearest(name)})")
        return found[0]

    async def list(self) -> builtins.list[Task]:
        """Every task, the newest first; one of each id, as it was last put."""
        return await self._database.records(
            Task,
            "SELECT record FROM tasks WHERE position IN (SELECT max(position) FROM tasks GROUP BY id)"
            " ORDER BY position DESC",
        )

    async def _nearest(self, name: str) -> str:
        names = await self._database.texts("SELECT name FROM tasks GROUP BY name ORDER BY max(position) DESC")
        if not names:
            return "none is stored yet: give the path of a task.yaml"
        near = difflib.get_close_matches(name, names, n=MAX_NAMES_SHOWN)
        return f"nearest: {', '.join(near)}" if near else f"stored: {', '.join(names[:MAX_NAMES_SHOWN])}"
