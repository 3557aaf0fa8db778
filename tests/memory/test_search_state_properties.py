"""What holds for every search, whatever its agents and its judge do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelguild.memory.schema import (
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
    lease_opened,
    log_of,
    round_judged,
    round_started,
    search_started,
    submitted,
)

T = TypeVar("T")
EIGHTHS = st.integers(0, 8).map(lambda eighths: eighths / 8)
"""Values whose sums are exact, so that equality is meant."""
PRIORS = st.lists(st.one_of(st.just(0.0), st.floats(0, allow_infinity=False, allow_nan=False)), max_size=4)


@dataclass(frozen=True)
class Step:
    """One thing that may happen: which one, and to whom, is chosen among what is possible by then."""

    action: int
    whom: int
    value: float
    passed: bool
    priors: list[float]


STEPS = st.lists(
    st.builds(
        Step, st.integers(0, 99), st.integers(0, 99), EIGHTHS, st.sampled_from([True, True, True, False]), PRIORS
    ),
    min_size=20,
    max_size=60,
)


@dataclass
class Run:
    """A search under way: the log so far and the state that was carried along with it."""

    events: list[Event] = field(default_factory=lambda: log_of(search_started()))
    programs: int = 0

    def __post_init__(self) -> None:
        self.state = SearchState.of(self.events)

    def append(self, body: EventBody) -> None:
        event = Event(search_id=SEARCH_ID, sequence=len(self.events) + 1, at_s=1.0, body=body)
        self.events.append(event)
        self.state.apply(event)

    def path_to(self, node: int) -> tuple[int, ...]:
        edge = self.state.nodes[node].parent_edge
        return () if edge is None else (*self.path_to(self.state.edges[edge].parent), edge)

    def path_of(self, edge: int) -> tuple[int, ...]:
        return (*self.path_to(self.state.edges[edge].parent), edge)

    def open_leases(self) -> list[int]:
        return [lease.id for lease in self.state.leases.values() if lease.status is LeaseStatus.OPEN]

    def waiting(self) -> list[int]:
        return [edge.id for edge in self.state.edges.values() if edge.child is None and not edge.in_flight]

    def being_judged(self) -> list[int]:
        return [edge.id for edge in self.state.edges.values() if edge.in_flight]

    def possible(self) -> list[str]:
        """What may happen next; what leads deeper into a search stands here more than once."""
        actions = ["resume"]
        if self.state.status is SearchStatus.RUNNING:
            actions += ["lease"] * 3 + ["end"] + ["start"] * 4 * bool(self.waiting())
        if self.open_leases():
            actions += ["submit"] * 6 + ["close"]
        if self.being_judged():
            actions += ["judge"] * 6 + ["abort"]
        return actions

    def take(self, step: Step) -> None:
        """Append the event of this step."""
        match _pick(self.possible(), step.action):
            case "resume":
                self.append(SearchResumed(rounds=16))
            case "end":
                self.append(SearchEnded(status="stopped", reason="by the user"))
            case "lease":
                node = _pick([node.id for node in self.state.nodes.values() if node.expandable], step.whom)
                self.append(lease_opened(len(self.state.leases) + 1, node=node, path=self.path_to(node)))
            case "submit":
                numbers = range(self.programs + 1, self.programs + 1 + len(step.priors))
                self.programs += len(step.priors)
                priors = dict(zip(numbers, step.priors, strict=True))
                self.append(submitted(_pick(self.open_leases(), step.whom), priors))
            case "close":
                lease = _pick(self.open_leases(), step.whom)
                self.append(LeaseClosed(lease=lease, status="expired", reason="too late"))
            case "start":
                self.append(round_started(*self.path_of(_pick(self.waiting(), step.whom))))
            case "judge":
                path = self.path_of(_pick(self.being_judged(), step.whom))
                self.append(round_judged(*path, value=step.value, passed=step.passed))
            case "abort":
                self.append(RoundAborted(edge=_pick(self.being_judged(), step.whom), reason="the judge broke"))


def _pick(choices: Sequence[T], number: int) -> T:
    return choices[number % len(choices)]


def check(run: Run) -> None:
    """Every invariant of a state, each recomputed from the tree alone."""
    state = run.state
    for node in state.nodes.values():
        below = state.edges_of(node.id)
        if below:
            assert sum(edge.prior for edge in below) == pytest.approx(1)
        visits = sum(edge.visit_count for edge in below)
        total = sum(edge.total_value for edge in below)
        if node.parent_edge is None:
            assert visits == state.rounds_done == len(state.nodes) - 1
            continue
        # A node is visited when it is judged, and whenever something below it is.
        assert state.edges[node.parent_edge].child == node.id
        assert state.edges[node.parent_edge].visit_count == 1 + visits
        assert state.edges[node.parent_edge].total_value == node.value + total
    expected = Counter[int]()
    for lease in run.open_leases():
        expected.update(state.leases[lease].path)
    for judged in run.being_judged():
        expected.update(run.path_of(judged))
    for edge in state.edges.values():
        assert state.in_flight(edge.id) == expected[edge.id]
        assert 0 <= edge.total_value <= edge.visit_count
        assert 0 <= edge.experience <= 1
        assert (edge.visit_count == 0) == (edge.child is None)


@given(STEPS)
@settings(deadline=None)
def test_every_state_keeps_the_invariants_and_equals_the_fold_of_its_log(steps: list[Step]) -> None:
    run = Run()
    for step in steps:
        run.take(step)
        check(run)
    stored = [Event.model_validate_json(event.model_dump_json()) for event in run.events]
    assert SearchState.of(stored) == run.state


@given(STEPS)
@settings(deadline=None)
def test_nothing_stays_in_flight_once_everything_has_ended(steps: list[Step]) -> None:
    run = Run()
    for step in steps:
        run.take(step)
    for lease in run.open_leases():
        run.append(LeaseClosed(lease=lease, status="failed", reason="the search ends"))
    for edge in run.being_judged():
        run.append(RoundAborted(edge=edge, reason="the search ends"))
    assert {run.state.in_flight(edge) for edge in run.state.edges} <= {0}


@given(STEPS, st.data())
@settings(deadline=None)
def test_n_and_w_do_not_depend_on_the_order_in_which_rounds_end(steps: list[Step], data: st.DataObject) -> None:
    run = Run()
    for step in steps:
        run.take(step)
    run.append(SearchResumed(rounds=16))
    waiting = run.waiting()
    for edge in waiting:
        run.append(round_started(*run.path_of(edge)))
    values = {edge: data.draw(EIGHTHS) for edge in waiting}
    outcomes = []
    for order in (waiting, data.draw(st.permutations(waiting))):
        state = SearchState.of(run.events)
        for number, edge in enumerate(order, start=len(run.events) + 1):
            body = round_judged(*run.path_of(edge), value=values[edge])
            state.apply(Event(search_id=SEARCH_ID, sequence=number, at_s=1.0, body=body))
        outcomes.append({edge.id: (edge.visit_count, edge.total_value) for edge in state.edges.values()})
    assert outcomes[0] == outcomes[1]
