"""From the state of a search to what the report and the terminal draw."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from ...memory.schema import (
    BestView,
    Candidate,
    Edge,
    Evaluation,
    MeasuredTiming,
    Node,
    NodeView,
    PendingView,
    SearchView,
)
from ...memory.search_state import SearchState
from ...memory.store import Store
from .puct import shaped_priors

MAX_DIFF_CHARS = 20_000


@dataclass
class Viewer:
    """Builds views of one search; verdicts and sources are read once each."""

    store: Store
    _evaluations: dict[str, Evaluation] = field(default_factory=dict)
    _candidates: dict[str, Candidate] = field(default_factory=dict)

    async def view(self, state: SearchState) -> SearchView:
        """The whole search at this moment."""
        nodes = [await self._node(state, node) for node in list(state.nodes.values())]
        root = await self._evaluation(state.nodes[0].evaluation_id)
        return SearchView(
            search_id=state.search.id,
            task_name=state.search.task_name,
            status=state.status.value,
            agents=tuple(f"{slots.agent}:{slots.count}" for slots in state.search.agents),
            rounds=state.rounds,
            rounds_done=state.rounds_done,
            baseline_ms=root.timing.baseline_ms if isinstance(root.timing, MeasuredTiming) else None,
            nodes=tuple(nodes),
            pending=tuple(_pending(edge) for edge in state.edges.values() if edge.child is None),
            best=await self._best(state),
            device=f"{root.device.model} ({root.device.name})",
            created_at_s=state.search.created_at_s,
            updated_at_s=state.updated_at_s,
            duplicates=state.duplicates,
        )

    async def _node(self, state: SearchState, node: Node) -> NodeView:
        evaluation = await self._evaluation(node.evaluation_id)
        edge = None if node.parent_edge is None else state.edges[node.parent_edge]
        timing = evaluation.timing if isinstance(evaluation.timing, MeasuredTiming) else None
        return NodeView(
            id=node.id,
            parent=None if edge is None else edge.parent,
            depth=node.depth,
            candidate_id=node.candidate_id,
            status=evaluation.status,
            verdict=evaluation.verdict,
            message=evaluation.message,
            value=node.value,
            visit_count=edge.visit_count if edge else state.rounds_done,
            mean_value=edge.value if edge else 0.0,
            shaped_prior=None if edge is None else _shaped_prior(state, edge),
            candidate_ms=timing.candidate_ms if timing else None,
            speedup=timing.speedup if timing else None,
            speedup_low=timing.speedup_low if timing else None,
            speedup_high=timing.speedup_high if timing else None,
            agent=edge.agent if edge else "seed",
            direction=edge.direction if edge else None,
            strategy=edge.strategy if edge else None,
            rationale=edge.rationale if edge else "the task's seed implementation",
            round=node.id or None,
            diff="" if edge is None else await self._diff(state, edge),
        )

    async def _best(self, state: SearchState) -> BestView | None:
        node = best_node(state)
        confirmed = state.confirmed if state.confirmed and node and state.confirmed.node == node.id else None
        if node is None:
            return None
        evaluation = confirmed.evaluation if confirmed else await self._evaluation(node.evaluation_id)
        if not isinstance(evaluation.timing, MeasuredTiming):
            return None
        return BestView(
            node=node.id,
            candidate_id=node.candidate_id,
            path=_path(state, node),
            source=(await self._candidate(node.candidate_id)).source,
            speedup=evaluation.timing.speedup,
            speedup_low=evaluation.timing.speedup_low,
            speedup_high=evaluation.timing.speedup_high,
            candidate_ms=evaluation.timing.candidate_ms,
            baseline_ms=evaluation.timing.baseline_ms,
            confirmed=confirmed is not None,
        )

    async def _diff(self, state: SearchState, edge: Edge) -> str:
        before = await self._candidate(state.nodes[edge.parent].candidate_id)
        after = await self._candidate(edge.candidate_id)
        lines = difflib.unified_diff(
            before.source.splitlines(),
            after.source.splitlines(),
            f"node {edge.parent}",
            f"node {edge.child}",
            lineterm="",
        )
        text = "\n".join(lines)
        return text if len(text) <= MAX_DIFF_CHARS else text[:MAX_DIFF_CHARS] + "\n[the rest of the diff is left out]"

    async def _evaluation(self, evaluation_id: str) -> Evaluation:
        if evaluation_id not in self._evaluations:
            self._evaluations[evaluation_id] = await self.store.evaluations.get(evaluation_id)
        return self._evaluations[evaluation_id]

    async def _candidate(self, candidate_id: str) -> Candidate:
        if candidate_id not in self._candidates:
            self._candidates[candidate_id] = await self.store.candidates.get(candidate_id)
        return self._candidates[candidate_id]


def best_node(state: SearchState) -> Node | None:
    """The confirmed best where there is one, else the node with the smallest measured ratio, ties to the older.

    The root has no ratio of its own; it is nobody's achievement.
    """
    if state.confirmed is not None:
        return state.nodes[state.confirmed.node]
    return min(_measured(state), key=_speed_order, default=None)


def fastest_first(state: SearchState) -> list[Node]:
    """The nodes with a measured ratio, the smallest first, ties to the older."""
    return sorted(_measured(state), key=_speed_order)


def _measured(state: SearchState) -> list[Node]:
    return [node for node in state.nodes.values() if node.time_ratio is not None]


def _speed_order(node: Node) -> tuple[float, int]:
    return node.time_ratio or 0.0, node.id


def _path(state: SearchState, node: Node) -> tuple[int, ...]:
    """Node ids from the root: the best action sequence."""
    path = [node.id]
    while node.parent_edge is not None:
        node = state.nodes[state.edges[node.parent_edge].parent]
        path.append(node.id)
    return tuple(reversed(path))


def _shaped_prior(state: SearchState, edge: Edge) -> float:
    siblings = state.edges_of(edge.parent)
    priors = shaped_priors(siblings, state.search.puct)
    return priors[[sibling.id for sibling in siblings].index(edge.id)]


def _pending(edge: Edge) -> PendingView:
    return PendingView(
        edge=edge.id, parent=edge.parent, prior=edge.prior, in_flight=edge.in_flight, strategy=edge.strategy
    )
