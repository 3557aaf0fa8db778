"""Tasks, candidates and evaluations come back as they were put."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kernelguild.memory.errors import NotFoundError, StoreError
from kernelguild.memory.schema import Candidate, Language, Status
from kernelguild.memory.store import Store, open_store
from memory_records import DEVICE, candidate, evaluation, task

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as opened:
        yield opened


async def test_a_task_is_found_by_id_and_by_name(store: Store) -> None:
    await store.tasks.put(task("softmax"))
    assert await store.tasks.get(task("softmax").id) == task("softmax")
    assert await store.tasks.find("softmax") == task("softmax")


async def test_the_newest_task_of_a_name_is_found_even_when_an_older_one_is_put_again(store: Store) -> None:
    old, new = task("softmax", seed=1), task("softmax", seed=2)
    await store.tasks.put(old)
    await store.tasks.put(new)
    assert await store.tasks.find("softmax") == new
    await store.tasks.put(old)
    assert await store.tasks.find("softmax") == old
    assert await store.tasks.list() == [old, new]


async def test_tasks_that_share_an_id_are_found_by_either_name_and_listed_once(store: Store) -> None:
    original, copied = task("softmax"), task("my_softmax", description="a copy")
    assert original.id == copied.id
    await store.tasks.put(original)
    await store.tasks.put(copied)
    assert await store.tasks.find("softmax") == original
    assert await store.tasks.find("my_softmax") == copied
    assert await store.tasks.list() == [copied]


async def test_an_unknown_task_name_lists_the_nearest_ones(store: Store) -> None:
    with pytest.raises(NotFoundError, match=r"none is stored yet: give the path of a task\.yaml"):
        await store.tasks.find("softmax")
    await store.tasks.put(task("softmax_cpp"))
    await store.tasks.put(task("swish", seed=1))
    with pytest.raises(NotFoundError, match=r"'sofmax_cpp' \(nearest: softmax_cpp\)"):
        await store.tasks.find("sofmax_cpp")
    with pytest.raises(NotFoundError, match="stored: swish, softmax_cpp"):
        await store.tasks.find("zzz")
    with pytest.raises(NotFoundError, match="'123'"):
        await store.tasks.get("123")


async def test_a_candidate_comes_back_byte_for_byte(store: Store) -> None:
    odd = Candidate(language=Language.PYTORCH, source="\ufeff'é\0\r\n\U0001f600\u2028'")
    await store.candidates.put(odd)
    await store.candidates.put(odd)
    assert await store.candidates.get(odd.id) == odd
    with pytest.raises(NotFoundError, match="no candidate has the id"):
        await store.candidates.get("0" * 32)


async def test_the_latest_evaluation_answers_and_the_older_one_stays(store: Store) -> None:
    await store.candidates.put(candidate(1))
    first, second = evaluation(candidate(1)), evaluation(candidate(1))
    assert await store.evaluations.latest(first.key) is None
    await store.evaluations.put(first)
    await store.evaluations.put(second)
    assert first.key == second.key
    assert await store.evaluations.latest(first.key) == second
    assert await store.evaluations.get(first.id) == first
    assert await store.evaluations.recent(1) == [second]
    assert await store.evaluations.recent(10) == [second, first]
    with pytest.raises(NotFoundError, match="no evaluation has the id"):
        await store.evaluations.get("0" * 32)


async def test_an_evaluation_of_an_unknown_candidate_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await store.evaluations.put(evaluation(candidate(1)))


@pytest.mark.parametrize("status", [Status.HARNESS_ERROR, Status.CANCELLED])
async def test_what_says_nothing_about_the_candidate_is_never_kept(store: Store, status: Status) -> None:
    await store.candidates.put(candidate(1))
    with pytest.raises(StoreError, match="never kept"):
        await store.evaluations.put(evaluation(candidate(1), status=status))
    assert await store.evaluations.recent(1) == []


async def test_each_device_is_listed_once_as_it_was_last_seen(store: Store) -> None:
    await store.candidates.put(candidate(1))
    upgraded = DEVICE.model_copy(update={"toolchain": "g++ 14"})
    other = DEVICE.model_copy(update={"instance": "machine-b"})
    for device in (DEVICE, other, upgraded):
        await store.evaluations.put(evaluation(candidate(1), device=device))
    assert await store.evaluations.devices() == [upgraded, other]
