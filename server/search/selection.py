"""Where the next round goes (TrAgent, Algorithm 1, SelectWithPUCT)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...memory.schema import Edge, LeaseStatus
from ...memory.search_state import ROOT, SearchState
from .puct import child_limit, scores, shaped_priors


@dataclass(frozen=True)
class Expand:
    """An agent is sent to a node that is not fully expanded."""

    node: int
    path: tuple[int, ...]
    """The edges from the root to the node."""


@dataclass(frozen=True)
class Judge:
    """A proposal that nobody has judged yet is judged, without a new session."""

    edge: Edge
    path: tuple[int, ...]
    """The edges from the root, this edge last."""


def select(state: SearchState, exhausted: Collection[int]) -> Expand | Judge | None:
    """Walk from the root to the first node where something is to be done; None while everything waits for others.

    Args:
        exhausted: nodes whose agents had nothing new to say.

    A lease is exclusive: no second agent is sent to its node. A node is fully expanded with ceil(2 sqrt(N(s) + 1))
    children, all visited once. A node that did not pass is terminal and never entered. Where no child can take the
    round, a full node is widened rather than the round lost.
    """
    leased = {lease.node for lease in state.leases.values() if lease.status is LeaseStatus.OPEN}
    return _select(state, ROOT, (), closed={*leased, *exhausted})


def _select(state: SearchState, node: int, path: tuple[int, ...], closed: Collection[int]) -> Expand | Judge | None:
    edges = state.edges_of(node)
    waiting = [edge for edge in edges if edge.child is None and not edge.in_flight]
    if waiting:
        best = max(waiting, key=lambda edge: (edge.prior, -edge.id))
        return Judge(best, (*path, best.id))
    visits = sum(edge.visit_count for edge in edges)
    open_to_agents = node not in closed
    if open_to_agents and len(edges) < child_limit(visits):
        return Expand(node, path)
    for edge, child in _ranked(state, edges):
        found = _select(state, child, (*path, edge.id), closed)
        if found is not None:
            return found
    if open_to_agents and not any(edge.in_flight for edge in edges):
        return Expand(node, path)
    return None


def _ranked(state: SearchState, edges: list[Edge]) -> list[tuple[Edge, int]]:
    """The edges that lead to a node that passed, with that node; best score first, ties to the older edge."""
    if not edges:
        return []
    values = scores(edges, shaped_priors(edges, state.search.puct), state.search.puct, state.in_flight)
    by_score = sorted(zip(values, edges, strict=True), key=lambda pair: (-pair[0], pair[1].id))
    return [(edge, edge.child) for _, edge in by_score if edge.child is not None and state.nodes[edge.child].expandable]
