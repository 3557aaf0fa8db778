"""What a search has seen of strategies and values: how often a change made its parent faster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...memory.schema import Edge
from ...memory.search_state import SearchState

Value = int | str


@dataclass
class Tally:
    """Successes and trials under a uniform Beta(1, 1) prior."""

    successes: int = 0
    trials: int = 0

    @property
    def mean(self) -> float:
        """The posterior mean."""
        return (self.successes + 1) / (self.trials + 2)


@dataclass
class TrackRecord:
    """Tallies by strategy, and by single value."""

    strategies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    values: dict[tuple[str, Value], Tally] = field(default_factory=lambda: defaultdict(Tally))

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
        helped = _helped(state, edge, improvement)
        if edge.strategy is not None:
            self._tally(self.strategies[edge.strategy], helped)
        for name, value in _changed(state, edge).items():
            self._tally(self.values[name, value], helped)

    @staticmethod
    def _tally(tally: Tally, helped: bool) -> None:
        tally.trials += 1
        tally.successes += helped


def _helped(state: SearchState, edge: Edge, improvement: float) -> bool:
    assert edge.child is not None
    before, after = state.nodes[edge.parent].time_ratio, state.nodes[edge.child].time_ratio
    # The root is the seed, whose ratio to the baseline is 1 where the baseline is the seed.
    return after is not None and (before or 1.0) / after >= improvement


def _changed(state: SearchState, edge: Edge) -> dict[str, Value]:
    parent_edge = state.nodes[edge.parent].parent_edge
    before = {} if parent_edge is None else state.edges[parent_edge].parameters or {}
    return {name: value for name, value in (edge.parameters or {}).items() if before.get(name) != value}
