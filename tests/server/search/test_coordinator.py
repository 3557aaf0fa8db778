"""The coordinator over the real store and evaluator: budgets, leases, failures. Every state is its log's fold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from scripted_search import BOUND_S, Bench, Hanging, ScriptedAgent, ScriptedExecutor, bench, settings
from search_records import TASK, candidate, proposal

from kernelguild.memory.errors import ConfigError, HarnessError, KernelguildError, UnavailableError
from kernelguild.memory.schema import (
    EventBody,
    LeaseClosed,
    LeaseStatus,
    Proposal,
    RoundAborted,
    RoundJudged,
    SearchResumed,
    SearchStatus,
    Tier,
)
from kernelguild.memory.search_state import SearchState
from kernelguild.server.search.selection import Judge, select
from kernelguild.tools.evaluator import Evaluator

pytestmark = pytest.mark.anyio


def plenty(count: int, *, each: int = 2) -> ScriptedAgent:
    """An agent with so many submissions of new programs."""
    return ScriptedAgent(
        [[proposal(first + step) for step in range(each)] for first in range(1, count * each + 1, each)]
    )


async def run(under_test: Bench) -> SearchState:
    with anyio.fail_after(BOUND_S):
        await under_test.coordinator.run()
    return under_test.journal.state


def of_kind(bodies: Sequence[EventBody], kind: type[EventBody]) -> list[EventBody]:
    return [body for body in bodies if isinstance(body, kind)]


def assert_at_rest(state: SearchState) -> None:
    """No lease is open and nothing is in flight."""
    assert LeaseStatus.OPEN not in {lease.status for lease in state.leases.values()}
    assert {state.in_flight(edge) for edge in state.edges} <= {0}
    assert not any(edge.in_flight for edge in state.edges.values())


@pytest.mark.parametrize("slots", [1, 3])
async def test_the_budget_is_spent_to_the_last_round_and_no_further(tmp_path: Path, slots: int) -> None:
    executor = ScriptedExecutor()
    async with bench(tmp_path, {"tuner": plenty(9)}, executor, slots=slots, rounds=7) as ready:
        state = await run(ready)
        judged = of_kind(await ready.logged(), RoundJudged)
    assert (state.status, state.rounds_done, len(judged)) == (SearchStatus.FINISHED, 7, 7)
    assert len(set(executor.asked)) == len(executor.asked) == 7
    assert_at_rest(state)


async def test_two_slots_judge_at_the_same_time(tmp_path: Path) -> None:
    arrived: list[str] = []
    both = anyio.Event()

    async def wait_for_the_other(source: str) -> float:
        arrived.append(source)
        if len(arrived) == 2:
            both.set()
        await both.wait()
        return 0.5

    async with bench(tmp_path, {"tuner": plenty(1)}, ScriptedExecutor(wait_for_the_other), slots=2, rounds=2) as ready:
        state = await run(ready)
    assert (state.rounds_done, len(state.leases)) == (2, 1)


async def test_programs_that_are_known_cost_nothing(tmp_path: Path) -> None:
    agent = ScriptedAgent([[proposal(0), proposal(1), proposal(1)], [proposal(1), proposal(2)]])
    executor = ScriptedExecutor()
    async with bench(tmp_path, {"tuner": agent}, executor, rounds=2) as ready:
        state = await run(ready)
    assert (state.duplicates, state.rounds_done) == (3, 2)
    assert executor.asked == ["// 1", "// 2"]


async def test_a_verdict_from_before_is_not_measured_again_but_its_round_counts(tmp_path: Path) -> None:
    executor = ScriptedExecutor()
    async with bench(tmp_path, {"tuner": plenty(2, each=1)}, executor, rounds=2) as ready:
        await Evaluator(ready.store, executor).evaluate(TASK, candidate(1), Tier.PROFILE)
        state = await run(ready)
    assert executor.asked == ["// 1", "// 2"]
    assert (state.rounds_done, state.nodes[1].time_ratio) == (2, 0.5)


async def test_the_new_edge_of_highest_prior_is_its_rounds(tmp_path: Path) -> None:
    agent = ScriptedAgent([[proposal(1, 1), proposal(2, 5), proposal(3, 5)]])
    executor = ScriptedExecutor()
    async with bench(tmp_path, {"tuner": agent}, executor, rounds=3) as ready:
        await run(ready)
    assert (executor.asked, agent.leases) == (["// 2", "// 3", "// 1"], 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no idea"), "ValueError: no idea"),
        (TimeoutError("the model's server"), "TimeoutError: the model's server"),
    ],
)
async def test_an_agent_that_fails_costs_its_lease_alone(tmp_path: Path, error: Exception, reason: str) -> None:
    agent = ScriptedAgent([error, [proposal(1)], error, [proposal(2)]])
    limits = settings(max_agent_failures=2)
    async with bench(tmp_path, {"tuner": agent}, ScriptedExecutor(), rounds=2, settings=limits) as ready:
        state = await run(ready)
        closed = of_kind(await ready.logged(), LeaseClosed)
    assert closed == [LeaseClosed(lease=lease, status="failed", reason=reason) for lease in (1, 3)]
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, 2)


async def test_agents_that_fail_again_and_again_end_the_search(tmp_path: Path) -> None:
    agent = ScriptedAgent([ValueError("no idea")] * 9)
    limits = settings(max_agent_failures=3)
    async with bench(tmp_path, {"tuner": agent}, ScriptedExecutor(), slots=2, settings=limits) as ready:
        with anyio.fail_after(BOUND_S):
            end = await ready.coordinator.run()
        state = ready.journal.state
    assert end.reason == "3 leases in a row without a submission; last: ValueError: no idea"
    assert (state.status, state.rounds_done, agent.leases) == (SearchStatus.STOPPED, 0, 3)
    assert_at_rest(state)


async def test_an_agent_that_never_answers_loses_its_lease_in_time(tmp_path: Path) -> None:
    limits = settings(max_agent_failures=2, lease_timeout_s=0.01)
    async with bench(tmp_path, {"tuner": Hanging()}, ScriptedExecutor(), settings=limits) as ready:
        state = await run(ready)
        closed = of_kind(await ready.logged(), LeaseClosed)
    assert closed == [
        LeaseClosed(lease=lease, status="expired", reason="no submission within 0.01 s") for lease in (1, 2)
    ]
    assert state.status is SearchStatus.STOPPED
    assert_at_rest(state)


@pytest.mark.parametrize("submission", [[], [proposal(0)]])
async def test_a_search_ends_where_no_agent_has_anything_new(tmp_path: Path, submission: list[Proposal]) -> None:
    agent = ScriptedAgent([[proposal(1)], *[submission] * 20])
    limits = settings(max_empty_submissions=2)
    async with bench(tmp_path, {"tuner": agent}, ScriptedExecutor(), slots=2, settings=limits) as ready:
        with anyio.fail_after(BOUND_S):
            end = await ready.coordinator.run()
        state = ready.journal.state
    assert (end.status, end.reason) == ("finished", "no agent has a new program to propose")
    # One that brought program 1, then two in a row at each of the two nodes.
    assert (state.rounds_done, agent.leases) == (1, 5)


async def test_a_node_stays_closed_to_agents_after_a_resumption(tmp_path: Path) -> None:
    agent = ScriptedAgent([])
    for _ in range(2):
        async with bench(tmp_path, {"tuner": agent}, ScriptedExecutor()) as ready:
            if ready.journal.state.status is SearchStatus.FINISHED:
                await ready.journal.write(SearchResumed(rounds=16))
            await run(ready)
    assert agent.leases == settings().max_empty_submissions


async def test_a_broken_judge_aborts_the_round_which_is_then_repeated(tmp_path: Path) -> None:
    failures = iter([HarnessError("the judge process died"), HarnessError("again")])

    async def break_twice(source: str) -> float:
        for failure in failures:
            raise failure
        return 0.5

    executor = ScriptedExecutor(break_twice)
    async with bench(tmp_path, {"tuner": plenty(2, each=1)}, executor, rounds=2) as ready:
        state = await run(ready)
        aborted = of_kind(await ready.logged(), RoundAborted)
    assert aborted == [RoundAborted(edge=1, reason=reason) for reason in ("the judge process died", "again")]
    assert executor.asked == ["// 1"] * 3 + ["// 2"]
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, 2)
    assert_at_rest(state)


@pytest.mark.parametrize("slots", [1, 2])
async def test_a_judge_that_stays_broken_stops_the_search(tmp_path: Path, slots: int) -> None:
    async def broken(source: str) -> float:
        raise HarnessError("the judge process died")

    executor = ScriptedExecutor(broken)
    limits = settings(max_judge_failures=3)
    async with bench(tmp_path, {"tuner": plenty(9)}, executor, slots=slots, rounds=4, settings=limits) as ready:
        with pytest.raises(HarnessError, match="the judge process died"):
            await run(ready)
        state = ready.journal.state
    assert (state.status, state.rounds_done) == (SearchStatus.STOPPED, 0)
    assert 3 <= len(executor.asked) < 3 + slots
    assert_at_rest(state)


@pytest.mark.parametrize(
    "error", [ConfigError("reference.py:3: no function softmax"), UnavailableError("no g++ on this host")]
)
async def test_what_no_repetition_can_cure_ends_the_search_though_a_slot_waits(
    tmp_path: Path, error: KernelguildError
) -> None:
    async def refuse(source: str) -> float:
        raise error

    executor = ScriptedExecutor(refuse)
    # One round for two slots: the second one has nothing to do but to wait.
    async with bench(tmp_path, {"tuner": plenty(1)}, executor, slots=2, rounds=1) as ready:
        with pytest.raises(type(error), match=re.escape(str(error))):
            await run(ready)
        state = ready.journal.state
    assert (state.status, len(executor.asked)) == (SearchStatus.STOPPED, 1)


async def test_a_cancelled_run_leaves_a_log_from_which_the_same_search_goes_on(tmp_path: Path) -> None:
    reached = anyio.Event()

    async def stick_at_three(source: str) -> float:
        if source == candidate(3).source:
            reached.set()
            await anyio.sleep_forever()
        return 0.5

    agents = {"tuner": plenty(9, each=1)}
    async with bench(tmp_path, agents, ScriptedExecutor(stick_at_three), rounds=5) as ready:
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(ready.coordinator.run)
                await reached.wait()
                group.cancel_scope.cancel()
    executor = ScriptedExecutor()
    async with bench(tmp_path, agents, executor) as resumed:
        state = resumed.journal.state
        assert (state.rounds_done, state.edges[3].in_flight) == (2, True)
        await resumed.journal.write(SearchResumed(rounds=5))
        again = SearchState.of(await resumed.store.events.read(state.search.id))
        assert select(state, ()) == select(again, ()) == Judge(state.edges[3], (3,))
        await run(resumed)
        judged = of_kind(await resumed.logged(), RoundJudged)
    assert [body.edge for body in judged if isinstance(body, RoundJudged)] == [1, 2, 3, 4, 5]
    assert executor.asked == ["// 3", "// 4", "// 5"]
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, 5)
    assert_at_rest(state)
