"""The fold of events: worked examples of equations 4 and 5, and what it refuses."""

from __future__ import annotations

import copy

import pytest

from kernelguild.memory.errors import StoreError
from kernelguild.memory.schema import (
    BestConfirmed,
    BestRefuted,
    Event,
    EventBody,
    LeaseClosed,
    LeaseStatus,
    RoundAborted,
    SearchEnded,
    SearchResumed,
    SearchStatus,
)
from kernelguild.memory.search_state import SearchState
from memory_records import (
    SEARCH_ID,
    candidate,
    evaluation,
    lease_opened,
    log_of,
    round_judged,
    round_started,
    search_started,
    session,
    submitted,
)

ROOT_PROPOSALS = (search_started(), lease_opened(1, node=0, path=()), submitted(1, {1: 3, 2: 1}, duplicates=2))
"""Edges 1 and 2 leave the root."""
FIRST_ROUND = (*ROOT_PROPOSALS, round_started(1), round_judged(1, value=0.5))
"""Edge 1 leads to node 1."""


def state_after(*bodies: EventBody) -> SearchState:
    return SearchState.of(log_of(*bodies))


def priors(state: SearchState, node: int) -> list[float]:
    return [edge.prior for edge in state.edges_of(node)]


def test_equations_4_and_5_worked_by_hand() -> None:
    state = state_after(
        *FIRST_ROUND,
        lease_opened(2, node=1, path=(1,)),
        submitted(2, {3: 0, 4: 0}),
        round_started(1, 3),
        round_judged(1, 3, value=0.8),
        round_started(1, 4),
        round_judged(1, 4, value=0.0, passed=False),
    )
    upper, unvisited, middle, failed = (state.edges[number] for number in (1, 2, 3, 4))

    # m = 0.7. V = 0.5, 0.8, 0 went through edge 1.
    assert upper.visit_count == 3
    assert upper.total_value == pytest.approx(1.3)
    assert upper.value == pytest.approx(1.3 / 3)
    # 0.3 * 0.5 = 0.15; 0.7 * 0.15 + 0.3 * 0.8 = 0.345; 0.7 * 0.345 = 0.2415
    assert upper.experience == pytest.approx(0.2415)

    assert (middle.visit_count, middle.total_value) == (1, 0.8)
    assert middle.experience == pytest.approx(0.24)
    assert (failed.visit_count, failed.total_value, failed.experience) == (1, 0.0, 0.0)
    assert (unvisited.visit_count, unvisited.total_value, unvisited.experience) == (0, 0.0, 0.0)
    assert state.rounds_done == 3


def test_nodes_count_in_order_of_judgement_and_edges_in_order_of_submission() -> None:
    state = state_after(
        *ROOT_PROPOSALS,
        round_started(1),
        round_started(2),
        round_judged(2, value=0.25),
        round_judged(1, value=0.5),
        lease_opened(2, node=1, path=(2,)),
        submitted(2, {3: 1}),
        round_started(2, 3),
        round_judged(2, 3, value=0.75),
    )
    assert {edge.id: (edge.parent, edge.child, edge.candidate_id) for edge in state.edges.values()} == {
        1: (0, 2, candidate(1).id),
        2: (0, 1, candidate(2).id),
        3: (1, 3, candidate(3).id),
    }
    assert {node.id: (node.parent_edge, node.depth, node.value, node.time_ratio) for node in state.nodes.values()} == {
        0: (None, 0, 0.0, None),
        1: (2, 1, 0.25, 0.75),
        2: (1, 1, 0.5, 0.5),
        3: (3, 2, 0.75, 0.25),
    }


def test_a_failed_candidate_gets_a_node_that_no_agent_visits_and_counts_as_zero() -> None:
    state = state_after(*ROOT_PROPOSALS, round_started(1), round_judged(1, value=0.9, passed=False))
    assert (state.nodes[1].expandable, state.nodes[1].value, state.nodes[1].time_ratio) == (False, 0.0, None)
    assert (state.edges[1].visit_count, state.edges[1].total_value, state.edges[1].experience) == (1, 0.0, 0.0)
    assert state.rounds_done == 1


def test_priors_are_normalised_within_a_submission_and_all_zero_means_uniform() -> None:
    assert priors(state_after(*ROOT_PROPOSALS), 0) == [0.75, 0.25]
    assert priors(state_after(*ROOT_PROPOSALS[:2], submitted(1, {1: 0, 2: 0, 3: 0, 4: 0})), 0) == [0.25] * 4
    assert priors(state_after(*ROOT_PROPOSALS[:2], submitted(1, {1: 1e308, 2: 1e308})), 0) == [0.5, 0.5]


def test_each_submission_at_a_node_has_the_same_say_in_its_priors() -> None:
    state = state_after(*ROOT_PROPOSALS, lease_opened(2, node=0, path=()), submitted(2, {3: 10, 4: 30}))
    assert priors(state, 0) == pytest.approx([0.375, 0.125, 0.125, 0.375])


def test_a_submission_of_known_programs_alone_ends_its_lease_and_adds_no_edge() -> None:
    state = state_after(*ROOT_PROPOSALS, lease_opened(2, node=0, path=()), submitted(2, {}, duplicates=5))
    assert priors(state, 0) == [0.75, 0.25]
    assert state.leases[2].status is LeaseStatus.SUBMITTED
    assert state.duplicates == 7
    assert [each.lease for each in state.sessions] == [1, 2]


def test_what_is_in_flight_is_counted_along_its_path_and_released_once() -> None:
    state = state_after(*FIRST_ROUND, lease_opened(2, node=1, path=(1,)), lease_opened(3, node=1, path=(1,)))
    assert [state.in_flight(edge) for edge in (1, 2)] == [2, 0]
    bodies: list[EventBody] = [
        submitted(2, {3: 1}),
        round_started(1, 3),
        round_started(2),
        LeaseClosed(lease=3, status="failed", reason="no answer", session=session(3)),
        RoundAborted(edge=2, reason="the judge broke"),
        round_judged(1, 3, value=0.5),
    ]
    seen = []
    for body in bodies:
        state.apply(Event(search_id=SEARCH_ID, sequence=state.sequence + 1, at_s=1.0, body=body))
        seen.append([state.in_flight(edge) for edge in (1, 2, 3)])
    assert seen == [[1, 0, 0], [2, 0, 1], [2, 1, 1], [1, 1, 1], [1, 0, 1], [0, 0, 0]]


def test_an_aborted_round_backs_nothing_up_and_its_edge_can_be_judged_again() -> None:
    state = state_after(*ROOT_PROPOSALS, round_started(1), RoundAborted(edge=1, reason="the judge broke"))
    assert (state.edges[1].in_flight, state.edges[1].visit_count, state.rounds_done) == (False, 0, 0)
    again = state_after(
        *ROOT_PROPOSALS,
        round_started(1),
        RoundAborted(edge=1, reason="the judge broke"),
        round_started(1),
        round_judged(1, value=0.5),
    )
    assert (again.edges[1].visit_count, again.rounds_done) == (1, 1)


def test_resuming_voids_open_leases_and_running_rounds_and_sets_the_budget() -> None:
    state = state_after(
        *FIRST_ROUND,
        lease_opened(2, node=1, path=(1,)),
        round_started(2),
        SearchEnded(status="stopped", reason="by the user"),
        SearchResumed(rounds=64),
    )
    assert (state.status, state.rounds, state.rounds_done) == (SearchStatus.RUNNING, 64, 1)
    assert [lease.status for lease in state.leases.values()] == [LeaseStatus.SUBMITTED, LeaseStatus.EXPIRED]
    assert not any(edge.in_flight for edge in state.edges.values())
    assert [state.in_flight(edge) for edge in (1, 2)] == [0, 0]
    state.apply(Event(search_id=SEARCH_ID, sequence=state.sequence + 1, at_s=1.0, body=round_started(2)))
    assert state.edges[2].in_flight


def test_an_ended_search_can_still_confirm_its_best() -> None:
    confirmed = BestConfirmed(node=1, evaluation=evaluation(candidate(1)))
    state = state_after(*FIRST_ROUND, SearchEnded(status="finished", reason="budget spent"), confirmed)
    assert state.status is SearchStatus.FINISHED
    assert state.confirmed == confirmed


def test_a_best_that_is_refuted_is_nobodys_best_and_a_later_round_voids_a_confirmation() -> None:
    again = evaluation(candidate(1))
    refuted = state_after(*FIRST_ROUND, BestRefuted(node=1, evaluation=again))
    assert (refuted.nodes[1].time_ratio, refuted.nodes[1].expandable) == (None, False)
    confirmed = BestConfirmed(node=1, evaluation=again)
    went_on = state_after(*FIRST_ROUND, confirmed, round_started(2), round_judged(2, value=0.1))
    assert went_on.confirmed is None


OPEN = (*FIRST_ROUND, lease_opened(2, node=1, path=(1,)), round_started(2))
"""Lease 2 is open at node 1 and edge 2 is being judged: the state that every impossible event meets."""
ENDED = (*OPEN, SearchEnded(status="stopped", reason="by the user"))
CLOSED = LeaseClosed(lease=1, status="failed", reason="late")
IMPOSSIBLE: dict[str, tuple[tuple[EventBody, ...], EventBody, str]] = {
    "start twice": (OPEN, search_started(), "the search has started already"),
    "lease id reused": (OPEN, lease_opened(1, node=0, path=()), "lease 1 was opened before"),
    "lease at an unknown node": (OPEN, lease_opened(3, node=7, path=()), "there is no node 7"),
    "lease path elsewhere": (OPEN, lease_opened(3, node=1, path=()), "does not lead to node 1"),
    "lease path broken": (OPEN, lease_opened(3, node=1, path=(1, 1)), "edge 1 of the path does not leave node 1"),
    "lease path unknown": (OPEN, lease_opened(3, node=1, path=(9,)), "there is no edge 9"),
    "lease closed twice": (OPEN, CLOSED, "lease 1 is submitted already"),
    "lease unknown": (OPEN, CLOSED.model_copy(update={"lease": 9}), "there is no lease 9"),
    "session of another lease": (OPEN, CLOSED.model_copy(update={"lease": 2, "session": session(1)}), "to lease 1"),
    "submitted twice": (OPEN, submitted(1, {5: 1}), "lease 1 is submitted already"),
    "known program": (OPEN, submitted(2, {1: 1}), f"candidate {candidate(1).id} is in the tree already"),
    "the seed again": (OPEN, submitted(2, {0: 1}), f"candidate {candidate(0).id} is in the tree already"),
    "round of an unknown edge": (OPEN, round_started(9), "there is no edge 9"),
    "round of a judged edge": (OPEN, round_started(1), "edge 1 was judged before: it leads to node 1"),
    "round started twice": (OPEN, round_started(2), "edge 2 is being judged already"),
    "judged twice": (OPEN, round_judged(1, value=0.5), "edge 1 was judged before"),
    "judged along another path": (OPEN, round_judged(1, 2, value=0.5), r"was started along \(2,\)"),
    "aborted without a start": (OPEN, RoundAborted(edge=1, reason=""), "no round of edge 1 is running"),
    "judged without a start": (ROOT_PROPOSALS, round_judged(1, value=0.5), "no round of edge 1 is running"),
    "path without its edge": (
        ROOT_PROPOSALS,
        round_started(1).model_copy(update={"path": ()}),
        "the path does not end with edge 1",
    ),
    "unknown best": (OPEN, BestConfirmed(node=7, evaluation=evaluation(candidate(1))), "there is no node 7"),
    "best of another candidate": (
        OPEN,
        BestConfirmed(node=1, evaluation=evaluation(candidate(2))),
        f"node 1 holds candidate {candidate(1).id}",
    ),
    "ended twice": (ENDED, SearchEnded(status="finished", reason=""), "the search is stopped already"),
    "lease after the end": (ENDED, lease_opened(3, node=0, path=()), "the search is stopped; it must be resumed"),
    "round after the end": (ENDED, round_started(2), "the search is stopped; it must be resumed"),
    "lease at a failed node": (
        (*ROOT_PROPOSALS, round_started(1), round_judged(1, value=0, passed=False)),
        lease_opened(2, node=1, path=(1,)),
        "node 1 did not pass",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_event_is_named_and_changes_nothing(case: str) -> None:
    before, body, why = IMPOSSIBLE[case]
    state = state_after(*before)
    untouched = copy.deepcopy(state)
    event = Event(search_id=SEARCH_ID, sequence=state.sequence + 1, at_s=99.0, body=body)
    with pytest.raises(StoreError, match=rf"event {event.sequence} \({body.kind}\) is impossible: .*{why}"):
        state.apply(event)
    assert state == untouched


@pytest.mark.parametrize("sequence", [3, 5])
def test_an_event_out_of_sequence_is_refused(sequence: int) -> None:
    state = state_after(*ROOT_PROPOSALS)
    with pytest.raises(StoreError, match=f"event {sequence} .*the event after 3 was expected"):
        state.apply(Event(search_id=SEARCH_ID, sequence=sequence, at_s=1.0, body=round_started(1)))


def test_an_event_of_another_search_is_refused() -> None:
    state = state_after(*ROOT_PROPOSALS)
    with pytest.raises(StoreError, match=f"this is search {SEARCH_ID}"):
        state.apply(Event(search_id="0" * 32, sequence=4, at_s=1.0, body=round_started(1)))


def test_a_log_must_begin_with_its_start() -> None:
    with pytest.raises(StoreError, match="without events"):
        SearchState.of([])
    with pytest.raises(StoreError, match="begins with search_started"):
        state_after(round_started(1))
