"""A search from its start to a confirmed best, and on from wherever it was left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from scripted_search import BOUND_S, ScriptedExecutor, twice_as_fast
from search_records import SMALL, TASK

from kernelguild.memory.clock import SystemClock
from kernelguild.memory.errors import ConfigError, ConflictError, HarnessError, InputError, NotFoundError
from kernelguild.memory.schema import AgentSlots, BestConfirmed, Event, LeaseStatus, RoundJudged, SearchStatus
from kernelguild.memory.search_state import SearchState
from kernelguild.memory.store import Store, open_store
from kernelguild.server.search.run import SearchRun
from kernelguild.server.search.view import Viewer, best_node
from kernelguild.tools.evaluator import Evaluator

pytestmark = pytest.mark.anyio
TUNER = (AgentSlots(agent="tuner", count=2),)
WIDE, WIDER = "// width 4 unroll 1 tail scalar", "// width 8 unroll 1 tail scalar"


class Killed(BaseException):
    """The process is gone: nothing handles it."""


class Runner:
    """Starts and resumes searches in one home, and remembers their events."""

    def __init__(self, store: Store, executor: ScriptedExecutor, killed_after: int | None) -> None:
        self.heard: list[tuple[Event, float | None]] = []
        """Events with the ratio of what was the best by then."""
        self._killed_after = killed_after
        self.run = SearchRun(store, Evaluator(store, executor), SystemClock(), self._hear)

    async def start(self, rounds: int = 6, agents: tuple[AgentSlots, ...] = TUNER) -> SearchState:
        with anyio.fail_after(BOUND_S):
            return await self.run.start(SMALL, agents, rounds, seed=0)

    async def resume(self, search_id: str, rounds: int | None = None) -> SearchState:
        with anyio.fail_after(BOUND_S):
            return await self.run.resume(search_id, rounds)

    async def _hear(self, event: Event, state: SearchState) -> None:
        best = best_node(state)
        self.heard.append((event, best.time_ratio if best else None))
        if event.sequence == self._killed_after:
            raise Killed


@asynccontextmanager
async def runner(
    home: Path, executor: ScriptedExecutor | None = None, *, killed_after: int | None = None
) -> AsyncIterator[Runner]:
    async with open_store(home) as store:
        yield Runner(store, executor or ScriptedExecutor(), killed_after)


async def test_the_best_is_measured_again_on_fresh_inputs(tmp_path: Path) -> None:
    async def wide_is_best(source: str) -> float:
        return 0.25 if source == WIDER else 0.5

    executor = ScriptedExecutor(wide_is_best)
    async with runner(tmp_path, executor) as searches:
        state = await searches.start(rounds=20)
        view = await Viewer(searches.run.store).view(state)
    assert executor.asked.count(WIDER) == 2
    assert len(executor.asked) == len(set(executor.asked)) + 1
    assert view.best is not None
    assert (view.best.source, view.best.speedup, view.best.confirmed) == (WIDER, 4.0, True)


@pytest.mark.parametrize("second", [None, 1e-6], ids=["wrong", "suspect"])
async def test_a_best_that_fails_on_fresh_inputs_gives_way_to_the_next(tmp_path: Path, second: float | None) -> None:
    executor = ScriptedExecutor()

    async def lucky_once(source: str) -> float | None:
        if source == WIDER:
            return 0.2 if executor.asked.count(source) == 1 else second
        return 0.3 if source == WIDE else 0.9

    executor.answer = lucky_once
    async with runner(tmp_path, executor) as searches:
        state = await searches.start(rounds=20)
        view = await Viewer(searches.run.store).view(state)
    assert view.best is not None
    assert (view.best.source, view.best.confirmed) == (WIDE, True)


async def test_what_fails_on_fresh_inputs_is_never_offered_as_the_best(tmp_path: Path) -> None:
    executor = ScriptedExecutor()

    async def lucky_once(source: str) -> float | None:
        return 0.5 if executor.asked.count(source) == 1 else None

    executor.answer = lucky_once
    async with runner(tmp_path, executor) as searches:
        state = await searches.start(rounds=2)
        view = await Viewer(searches.run.store).view(state)
    assert view.best is None
    assert [node.time_ratio for node in state.nodes.values()] == [None, None, None]


async def test_a_search_in_which_nothing_passes_ends_without_a_best(tmp_path: Path) -> None:
    executor = ScriptedExecutor()

    async def seed_alone(source: str) -> float | None:
        return 1.0 if source == SMALL.seed.source else None

    executor.answer = seed_alone
    async with runner(tmp_path, executor) as searches:
        state = await searches.start()
        view = await Viewer(searches.run.store).view(state)
    assert (state.status, state.rounds_done, view.best) == (SearchStatus.FINISHED, 6, None)


async def test_a_seed_that_does_not_pass_starts_nothing(tmp_path: Path) -> None:
    async def nothing_passes(source: str) -> None:
        return None

    async with runner(tmp_path, ScriptedExecutor(nothing_passes)) as searches:
        with pytest.raises(ConfigError, match=r"task a_task: its seed does not pass \(compile_error\)"):
            await searches.start()
        assert await searches.run.store.events.search_ids() == []


async def test_a_task_without_a_template_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    executor = ScriptedExecutor()
    async with runner(tmp_path, executor) as searches:
        with pytest.raises(InputError, match="declares no template"):
            await searches.run.start(TASK, TUNER, 6, seed=0)
    assert executor.asked == []


async def test_one_slot_and_one_seed_make_one_search(tmp_path: Path) -> None:
    one = (AgentSlots(agent="tuner", count=1),)
    asked = []
    for home in ("first", "second"):
        executor = ScriptedExecutor()
        async with runner(tmp_path / home, executor) as searches:
            await searches.start(agents=one)
        asked.append(executor.asked)
    assert asked[0] == asked[1]


async def test_a_search_that_is_done_asks_for_more_rounds_and_takes_them(tmp_path: Path) -> None:
    async with runner(tmp_path) as searches:
        search_id = (await searches.start(rounds=3)).search.id
        with pytest.raises(ConflictError, match="has done 3 rounds; give it more with --rounds 6"):
            await searches.resume(search_id)
        state = await searches.resume(search_id, rounds=5)
    assert (state.status, state.rounds, state.rounds_done) == (SearchStatus.FINISHED, 5, 5)


async def test_while_a_search_goes_on_what_it_measured_since_may_be_its_best(tmp_path: Path) -> None:
    async def slow(source: str) -> float:
        return 0.9

    executor = ScriptedExecutor(slow)
    async with runner(tmp_path, executor) as searches:
        search_id = (await searches.start(rounds=3)).search.id
        executor.answer = twice_as_fast
        await searches.resume(search_id, rounds=4)
    assert [best for event, best in searches.heard if isinstance(event.body, RoundJudged)] == [0.9, 0.9, 0.9, 0.5]


async def test_a_search_that_nobody_knows_is_not_found(tmp_path: Path) -> None:
    async with runner(tmp_path) as searches:
        with pytest.raises(NotFoundError, match=r"no search has the id '\.\./x'"):
            await searches.resume("../x")


async def test_a_search_has_one_coordinator(tmp_path: Path) -> None:
    reached, gate = anyio.Event(), anyio.Event()

    async def wait(source: str) -> float:
        if source != SMALL.seed.source:
            reached.set()
            await gate.wait()
        return 0.5

    async with runner(tmp_path, ScriptedExecutor(wait)) as first, runner(tmp_path) as second:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(first.start)
                await reached.wait()
                (search_id,) = await second.run.store.events.search_ids()
                with pytest.raises(ConflictError, match=r"is being run by process \d+; stop that one first"):
                    await second.resume(search_id)
                gate.set()
        assert SearchState.of(await second.run.store.events.read(search_id)).rounds_done == 6
    assert second.heard == []


async def test_a_cancelled_search_is_stopped_and_goes_on(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def hang(source: str) -> float:
        if source != SMALL.seed.source:
            reached.set()
            await anyio.sleep_forever()
        return 0.5

    async with runner(tmp_path, ScriptedExecutor(hang)) as searches:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(searches.start)
                await reached.wait()
                group.cancel_scope.cancel()
        (search_id,) = await searches.run.store.events.search_ids()
        state = SearchState.of(await searches.run.store.events.read(search_id))
        assert (state.status, state.rounds_done) == (SearchStatus.STOPPED, 0)
    async with runner(tmp_path) as searches:
        state = await searches.resume(search_id)
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, 6)


async def test_a_search_that_ended_before_its_best_was_confirmed_confirms_it_when_resumed(tmp_path: Path) -> None:
    executor = ScriptedExecutor()

    async def break_at_the_end(source: str) -> float:
        if executor.asked.count(source) == 2:
            raise HarnessError("the judge process died")
        return 0.5

    executor.answer = break_at_the_end
    async with runner(tmp_path, executor) as searches:
        with pytest.raises(HarnessError):
            await searches.start(rounds=3)
        (search_id,) = await searches.run.store.events.search_ids()
    async with runner(tmp_path) as searches:
        state = await searches.resume(search_id)
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, 3)
    assert state.confirmed is not None


async def test_killed_after_any_event_the_same_search_goes_on_to_exactly_its_budget(tmp_path: Path) -> None:
    async with runner(tmp_path / "whole") as searches:
        await searches.start(rounds=4)
    whole = len(searches.heard)
    assert isinstance(searches.heard[-1][0].body, BestConfirmed)
    for killed_after in range(1, whole):
        home = tmp_path / str(killed_after)
        executor = ScriptedExecutor()
        async with runner(home, executor, killed_after=killed_after) as searches:
            with pytest.RaisesGroup(Killed, allow_unwrapped=True):
                await searches.start(rounds=4)
            (search_id,) = await searches.run.store.events.search_ids()
        async with runner(home, executor) as searches:
            state = await searches.resume(search_id)
            log = await searches.run.store.events.read(search_id)
        assert SearchState.of(log) == state
        assert (state.status, state.rounds_done, len(state.nodes)) == (SearchStatus.FINISHED, 4, 5)
        assert len({node.candidate_id for node in state.nodes.values()}) == 5
        assert LeaseStatus.OPEN not in {lease.status for lease in state.leases.values()}
        assert {state.in_flight(edge) for edge in state.edges} == {0}
        assert state.confirmed is not None
        # The seed, four rounds, the confirmation; again only what two slots had at the judge.
        assert len(executor.asked) <= 1 + 4 + 1 + 2
