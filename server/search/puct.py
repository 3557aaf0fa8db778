"""Equations 1 to 3 and 6 of TrAgent as pure functions; 4 and 5 are the fold's (`memory.edge_statistics`).

The paper's form is exact. Counts of work in flight (WU-UCT) enter the denominator and the root of equation 2 alone:
in the shaped prior they would attract the next agent to where the last one has just gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...memory.schema import Edge, PuctSettings

InFlight = Callable[[int], int]
"""Edge id -> open leases and running rounds below it."""


def value_of(time_ratio: float) -> float:
    """V = clip(1 - time(candidate) / time(baseline), 0, 1) (equation 3)."""
    return min(1.0, max(0.0, 1.0 - time_ratio))


def shaped_priors(edges: Sequence[Edge], settings: PuctSettings) -> list[float]:
    """P~(s, a) of all edges of one node (equation 6); a distribution, every entry above 0 once N(s) > 0.

    P~ = Normalize((1 - lambda) P + lambda (N + rho EXP + epsilon)), lambda = N(s) / (N(s) + k), N(s) = sum_b N(s, b).
    """
    visits = sum(edge.visit_count for edge in edges)
    blend = visits / (visits + settings.k)
    raw = [
        (1 - blend) * edge.prior + blend * (edge.visit_count + settings.rho * edge.experience + settings.epsilon)
        for edge in edges
    ]
    total = sum(raw)
    return [value / total for value in raw]


def scores(edges: Sequence[Edge], priors: Sequence[float], settings: PuctSettings, in_flight: InFlight) -> list[float]:
    """Q + c P sqrt(sum_b (N + O)(s, b)) / (1 + N + O) (equation 1 with P, equation 2 with P~; O: WU-UCT)."""
    counts = [edge.visit_count + in_flight(edge.id) for edge in edges]
    root = math.sqrt(sum(counts))
    return [
        edge.value + settings.c * prior * root / (1 + count)
        for edge, prior, count in zip(edges, priors, counts, strict=True)
    ]


def child_limit(visits: int) -> int:
    """How many children make a node with N(s) visits fully expanded: ceil(2 sqrt(N(s) + 1))."""
    # ceil(sqrt(n)) in integers: a rounded root must not add a child.
    return math.isqrt(4 * (visits + 1) - 1) + 1
