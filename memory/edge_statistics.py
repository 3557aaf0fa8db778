"""What a search counts at its edges: equations 4 and 5 of TrAgent, and the weights that priors are made of."""

from __future__ import annotations

from collections.abc import Sequence

from .schema import Edge, PuctSettings


def back_up(edge: Edge, value: float, settings: PuctSettings) -> Edge:
    """The edge after a value V of its subtree (TrAgent, equations 4 and 5, with g(V) = V)."""
    return edge.model_copy(
        update={
            "visit_count": edge.visit_count + 1,
            "total_value": edge.total_value + value,
            "experience": settings.m * edge.experience + (1 - settings.m) * value,
        }
    )


def submission_weights(priors: Sequence[float]) -> list[float]:
    """The priors of one submission, made to sum to 1; uniform where all are zero."""
    largest = max(priors, default=0.0)
    if largest == 0.0:
        return [1.0 / len(priors)] * len(priors) if priors else []
    # By the largest first: the sum of huge weights would overflow.
    scaled = [prior / largest for prior in priors]
    total = sum(scaled)
    return [weight / total for weight in scaled]
