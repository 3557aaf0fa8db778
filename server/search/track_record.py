"""What a search has seen of strategies and values: how often a change made its parent faster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...memory.schema import Edge
from ...memory.search_state import SearchState

Value = int | str

REJECTED_TRIALS = 4
"""What a value is charged for a program that did not pass: elsewhere it may be fast, but hardly right."""


@dataclass
class Tally:
    """Successes and trials under a uniform Beta(1, 1) prior."""

    successes: int = 0
    trials: int = 0

    @property
    def mean(self) -> float:
        """The posterior mean."""
        return (self.successes + 1) / (self.trials + 2)


@dataclass(frozen=True)
class Success:
    """A change that helped, wherever in the tree that was."""

    strategy: str
    change: Mapping[str, Value]
    gain: float
    """time(before) / time(after)."""


@dataclass
class TrackRecord:
    """Tallies by strategy, and by single value; and what helped."""

    strategies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    values: dict[tuple[str, Value], Tally] = field(default_factory=lambda: defaultdict(Tally))
    successes: list[Success] = field(default_factory=list)
    """In the order of their edges."""

    @classmethod
    def of(cls, state: SearchState, improvement: float) -> TrackRecord:
        """Count every judged edge; it helped where it made its parent at least `improvement` times faster."""
        record = cls()
        for edge in state.edges.values():
            if edge.child is not None:
                record._count(state, edge, improvement)
        return record

    def promise(self, strategy: str, change: Mapping[str, Value]) -> float:
        """How likely the change is to help: the strategy's mean times each value's, relative to an unknown's."""
        promise = self.strategies[strategy].mean
        for name, value in change.items():
            promise *= 2 * self.values[name, value].mean
        return promise

    def _count(self, state: SearchState, edge: Edge, improvement: float) -> None:
        gain = _gain(state, edge)
        helped = gain >= improvement
        change = _changed(state, edge)
        if edge.strategy is not None:
            self._tally(self.strategies[edge.strategy], helped, trials=1)
            if helped and change:
                self.successes.append(Success(edge.strategy, change, gain))
        for name, value in change.items():
            self._tally(self.values[name, value], helped, trials=1 if gain else REJECTED_TRIALS)

    @staticmethod
    def _tally(tally: Tally, helped: bool, *, trials: int) -> None:
        tally.trials += trials
        tally.successes += helped


def _gain(state: SearchState, edge: Edge) -> float:
    """time(parent) / time(child); 0 where the child was not timed."""
    assert edge.child is not None
    before, after = state.nodes[edge.parent].time_ratio, state.nodes[edge.child].time_ratio
    # The root is the seed, whose ratio to the baseline is 1 where the baseline is the seed.
    return 0.0 if after is None else (before or 1.0) / after


def _changed(state: SearchState, edge: Edge) -> dict[str, Value]:
    parent_edge = state.nodes[edge.parent].parent_edge
    before = {} if parent_edge is None else state.edges[parent_edge].parameters or {}
    return {name: value for name, value in (edge.parameters or {}).items() if before.get(name) != value}
