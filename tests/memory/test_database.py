"""The file under the stores: created, migrated, shared, refused."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from kernelguild.memory.database import DATABASE_NAME, MIGRATIONS
from kernelguild.memory.errors import StoreError
from kernelguild.memory.store import open_store
from memory_records import candidate
from worker_process import worker

pytestmark = pytest.mark.anyio
NEWEST = len(list(MIGRATIONS.glob("*.sql")))


def execute(home: Path, sql: str) -> list[tuple[object, ...]]:
    """What another program sees in, or does to, the closed file."""
    with closing(sqlite3.connect(home / DATABASE_NAME)) as connection, connection:
        return connection.execute(sql).fetchall()


async def test_a_new_home_is_created_at_the_newest_version_and_opens_again(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    async with open_store(home) as store:
        await store.candidates.put(candidate(1))
    assert execute(home, "PRAGMA user_version") == [(NEWEST,)]
    assert execute(home, "PRAGMA journal_mode") == [("wal",)]
    async with open_store(home) as store:
        assert await store.candidates.get(candidate(1).id) == candidate(1)


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in MIGRATIONS.glob("*.sql"))
    assert numbers == list(range(1, NEWEST + 1))


async def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    async with open_store(tmp_path):
        pass
    execute(tmp_path, f"PRAGMA user_version = {NEWEST + 1}")
    before = (tmp_path / DATABASE_NAME).read_bytes()
    with pytest.raises(StoreError) as caught:
        async with open_store(tmp_path):
            pass
    message = str(caught.value)
    for part in (f"version {NEWEST + 1}", f"up to {NEWEST}", str(tmp_path / DATABASE_NAME), "upgrade kernelguild"):
        assert part in message
    assert (tmp_path / DATABASE_NAME).read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"certainly no database\n" * 100)
    with pytest.raises(StoreError, match=r"kernelguild\.db: file is not a database; move the file away"):
        async with open_store(tmp_path):
            pass
    assert (tmp_path / DATABASE_NAME).read_bytes().startswith(b"certainly")


async def test_a_home_that_is_a_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be used as a home: File exists; give another --home"):
        async with open_store(tmp_path / "home"):
            pass


async def test_a_damaged_record_is_named_and_its_neighbours_stay_readable(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.candidates.put(candidate(1))
        await store.candidates.put(candidate(2))
    execute(tmp_path, f"UPDATE candidates SET record = '{{\"language\": 7}}' WHERE id = '{candidate(1).id}'")
    async with open_store(tmp_path) as store:
        with pytest.raises(StoreError, match=r"kernelguild\.db: a stored Candidate is damaged .*language"):
            await store.candidates.get(candidate(1).id)
        assert await store.candidates.get(candidate(2).id) == candidate(2)


async def test_several_processes_open_a_new_home_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ExitStack() as stack:
        workers = [stack.enter_context(worker("open", home)) for _ in range(5)]
        assert [each.read_line() for each in workers] == ["ready"] * 5
        for each in workers:
            each.go_on()
        assert [each.read_line() for each in workers] == ["opened"] * 5
    assert execute(home, "PRAGMA user_version") == [(NEWEST,)]
