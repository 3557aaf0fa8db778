"""The one SQLite file of a home: opened in WAL mode, brought to this version, shared by several processes.

A statement that was acknowledged survives kill -9 of any process; only a power cut may take the last
commits (`synchronous=NORMAL`), and then leaves an earlier consistent state.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiosqlite
import anyio
import anyio.to_thread
from pydantic import BaseModel, ValidationError

from .errors import StoreError

DATABASE_NAME = "kernelguild.db"
MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_TIMEOUT_S = 30.0

Value = str | int | float | None
RecordT = TypeVar("RecordT", bound=BaseModel)


class Database:
    """One connection. Every statement commits by itself, so no two coroutines ever share a transaction."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    async def texts(self, sql: str, *parameters: Value) -> list[str]:
        """Run one statement; the first column of every row that it returns. A write is committed by then.

        A statement that was begun is waited for even where the caller is cancelled, so that what was written and
        what the caller believes never differ.

        Raises:
            StoreError: SQLite refused (a full disk, a damaged file, a constraint).
        """
        try:
            with anyio.CancelScope(shield=True):
                rows = await self._connection.execute_fetchall(sql, parameters)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}; the statement had no effect") from error
        return [str(row[0]) for row in rows]

    async def records(self, model: type[RecordT], sql: str, *parameters: Value) -> list[RecordT]:
        """Run one statement whose first column is the JSON of a record.

        Raises:
            StoreError: SQLite refused, or a record does not fit `model`.
        """
        return [self._decode(model, text) for text in await self.texts(sql, *parameters)]

    def _decode(self, model: type[RecordT], text: str) -> RecordT:
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the whole record"
            raise StoreError(
                f"{self.path}: a stored {model.__name__} is damaged or of another version: {where}: {first['msg']}"
                f" (it starts with {text[:80]!r})"
            ) from None


@asynccontextmanager
async def open_database(home: Path) -> AsyncIterator[Database]:
    """Create the home if need be, migrate its database, and hold a connection.

    Raises:
        StoreError: the home cannot be written, or its file is no database or one of a newer version.
    """
    path = home / DATABASE_NAME
    await anyio.to_thread.run_sync(partial(_prepare, path))
    connection = await aiosqlite.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        await connection.execute_fetchall("PRAGMA synchronous = NORMAL")
        await connection.execute_fetchall("PRAGMA foreign_keys = ON")
        yield Database(connection, path)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


def _prepare(path: Path) -> None:
    """Bring the file to this version, creating it where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(path.parent), closing(_connect(path)) as connection:
            _migrate(connection, path)
    except OSError as error:
        raise StoreError(f"{path.parent}: cannot be used as a home: {error.strerror}; give another --home") from error
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}; move the file away or give another --home") from error


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. It protects the change to WAL mode, for which SQLite waits for nobody."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    migrations = sorted(MIGRATIONS.glob("[0-9]*.sql"))
    newest = int(migrations[-1].name.split("_")[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > newest:
        raise StoreError(
            f"{path}: the database has version {version}, this kernelguild knows up to {newest}:"
            " upgrade kernelguild or give another --home"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    for migration in migrations:
        number = int(migration.name.split("_")[0])
        if number > version:
            script = migration.read_text(encoding="utf-8")
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
