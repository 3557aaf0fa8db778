"""A search at one moment, folded from its events."""

from __future__ import annotations

from collections.abc import Sequence

from ..memory.errors import NotFoundError
from ..memory.schema import Event, Node
from ..memory.search_state import SearchState
from .result import rounded
from .untrusted import clean

MAX_NODES_SHOWN = 100


def search_markdown(search_id: str, events: Sequence[Event]) -> str:
    """Status, budget, best and tree of a search.

    Raises:
        NotFoundError: the search has no events.
    """
    if not events:
        raise NotFoundError(f"no search has the id {search_id!r}; search://list names them")
    state = SearchState.of(events)
    agents = ", ".join(f"{slots.agent}:{slots.count}" for slots in state.search.agents)
    lines = [
        f"# Search {search_id}",
        f"task {state.search.task_name} (task://{state.search.task_id}), agents {agents}",
        f"status {state.status.value}, rounds {state.rounds_done} of {state.rounds}, duplicates {state.duplicates}",
        _best(state),
        "## Tree",
        *(_node(state, node) for node in list(state.nodes.values())[:MAX_NODES_SHOWN]),
    ]
    if len(state.nodes) > MAX_NODES_SHOWN:
        lines.append(f"[{len(state.nodes) - MAX_NODES_SHOWN} more nodes]")
    return "\n".join(lines) + "\n"


def search_list_markdown(search_ids: Sequence[str]) -> str:
    """The stored searches, the last one first."""
    if not search_ids:
        return "No search is stored yet: start one with `kernelguild search TASK`.\n"
    return "\n".join(["# Searches", *(f"- search://{search_id}" for search_id in reversed(search_ids))]) + "\n"


def _best(state: SearchState) -> str:
    if state.confirmed is not None:
        evaluation = state.confirmed.evaluation
        verdict = evaluation.verdict.value
        return f"best: node {state.confirmed.node}, candidate {evaluation.candidate_id}, confirmed: {verdict}"
    timed = [node for node in state.nodes.values() if node.time_ratio is not None]
    if not timed:
        return "best: none yet"
    best = min(timed, key=lambda node: node.time_ratio or 0.0)
    return f"best: node {best.id}, candidate {best.candidate_id}, {_speedup(best)} (not confirmed)"


def _node(state: SearchState, node: Node) -> str:
    edge = None if node.parent_edge is None else state.edges[node.parent_edge]
    what = "seed" if edge is None else f"from node {edge.parent} by {edge.agent or 'unknown'}: {edge.strategy or '-'}"
    rationale = f", {clean(edge.rationale)[:120]}" if edge is not None and edge.rationale else ""
    return f"{'  ' * node.depth}- node {node.id}: {_speedup(node)}, value {rounded(node.value)}, {what}{rationale}"


def _speedup(node: Node) -> str:
    return "not timed" if not node.time_ratio else f"speedup {rounded(1 / node.time_ratio)}"
