"""The log of a search: ordered, exclusive, and durable once acknowledged."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from kernelguild.memory.errors import ConflictError
from kernelguild.memory.schema import RoundAborted
from kernelguild.memory.store import open_store
from memory_records import SEARCH_ID, candidate, log_of, round_started, search_started, submitted
from worker_process import worker

pytestmark = pytest.mark.anyio
ABORTED = RoundAborted(edge=1, reason="the judge broke")


async def test_events_are_read_in_order_and_from_any_point(tmp_path: Path) -> None:
    events = log_of(search_started(), submitted(1, {1: 0.5}), round_started(1), ABORTED)
    async with open_store(tmp_path) as store:
        for event in events:
            appended = await store.events.append(SEARCH_ID, event.body, sequence=event.sequence, at_s=event.at_s)
            assert appended == event
        assert await store.events.read(SEARCH_ID) == events
        assert await store.events.read(SEARCH_ID, after=3) == events[3:]
        assert await store.events.read("0" * 32) == []


async def test_searches_are_listed_in_the_order_of_their_start(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        for search_id, at_s in (("c" * 32, 1.0), ("a" * 32, 3.0), ("b" * 32, 2.0)):
            await store.events.append(search_id, ABORTED, sequence=1, at_s=at_s)
            await store.events.append(search_id, ABORTED, sequence=2, at_s=9.0)
        assert await store.events.search_ids() == ["c" * 32, "b" * 32, "a" * 32]


async def test_of_two_logs_that_expect_the_same_sequence_one_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path) as mine, open_store(tmp_path) as theirs:
        await mine.events.append(SEARCH_ID, search_started(), sequence=1, at_s=1.0)
        await theirs.events.append(SEARCH_ID, ABORTED, sequence=2, at_s=2.0)
        with pytest.raises(ConflictError, match=r"event 2 \(round_aborted\) cannot follow event 2: another process"):
            await mine.events.append(SEARCH_ID, ABORTED, sequence=2, at_s=3.0)
        assert [event.at_s for event in await mine.events.read(SEARCH_ID)] == [1.0, 2.0]


async def test_a_gap_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        with pytest.raises(ConflictError, match=r"event 2 .* cannot follow event 0"):
            await store.events.append(SEARCH_ID, ABORTED, sequence=2, at_s=1.0)
        assert await store.events.read(SEARCH_ID) == []


async def test_a_cancelled_writer_still_learns_what_it_wrote(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        told = []
        with anyio.CancelScope() as scope:
            scope.cancel()
            told.append(await store.events.append(SEARCH_ID, ABORTED, sequence=1, at_s=1.0))
        assert told == await store.events.read(SEARCH_ID)
        assert len(told) == 1


async def test_several_processes_append_to_one_log_without_loss_or_gap(tmp_path: Path) -> None:
    writers, count = range(3), 25
    async with open_store(tmp_path):
        pass
    with ExitStack() as stack:
        workers = [stack.enter_context(worker("append-some", tmp_path, count, writer)) for writer in writers]
        assert [each.read_line() for each in workers] == ["ready"] * len(writers)
        for each in workers:
            each.go_on()
        assert [each.read_line() for each in workers] == ["done"] * len(writers)
    async with open_store(tmp_path) as store:
        events = await store.events.read(SEARCH_ID)
        for writer in writers:
            for number in range(count):
                await store.candidates.get(candidate(1000 * writer + number).id)
    assert [event.sequence for event in events] == list(range(1, count * len(writers) + 1))
    bodies = [event.body for event in events]
    for writer in writers:
        own = [body.edge for body in bodies if isinstance(body, RoundAborted) and body.reason == f"writer {writer}"]
        assert own == list(range(1, count + 1))


@pytest.mark.parametrize("acknowledged_before", [1, 40, 400])
async def test_kill_9_loses_no_acknowledged_event(tmp_path: Path, acknowledged_before: int) -> None:
    with worker("append", tmp_path) as writer:
        acknowledged = [int(writer.read_line()) for _ in range(acknowledged_before)]
        writer.kill()
        while line := writer.read_line():
            acknowledged.append(int(line))
    async with open_store(tmp_path) as store:
        stored = [event.sequence for event in await store.events.read(SEARCH_ID)]
        assert acknowledged == list(range(1, len(acknowledged) + 1))
        assert stored[: len(acknowledged)] == acknowledged
        assert len(stored) - len(acknowledged) in (0, 1)
        await store.events.append(SEARCH_ID, ABORTED, sequence=len(stored) + 1, at_s=1.0)
