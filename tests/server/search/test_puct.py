"""Equations 1, 2, 3 and 6 of TrAgent: worked examples by hand, and what must hold for all edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.memory.schema import Edge, PuctSettings
from kernelguild.server.search.puct import child_limit, scores, shaped_priors, value_of

PAPER = PuctSettings(c=1, k=8, m=0.7, rho=4, epsilon=1e-3)


def edge(number: int, *, prior: float, visits: int = 0, total: float = 0.0, experience: float = 0.0) -> Edge:
    return Edge(
        id=number,
        parent=0,
        candidate_id=f"{number:032x}",
        prior=prior,
        visit_count=visits,
        total_value=total,
        experience=experience,
    )


def none_in_flight(edge: int) -> int:
    return 0


THREE = (
    edge(1, prior=0.5, visits=2, total=1.0, experience=0.255),
    edge(2, prior=0.3, visits=1, total=0.8, experience=0.24),
    edge(3, prior=0.2, visits=1, total=0.0, experience=0.0),
)
"""N(s) = 4. Q = 0.5, 0.8, 0."""


def test_equation_1_worked_by_hand() -> None:
    # sqrt(2 + 1 + 1) = 2
    # 1.0 / 2 + 1 * 0.5 * 2 / (1 + 2) = 0.5 + 1 / 3
    # 0.8 / 1 + 1 * 0.3 * 2 / (1 + 1) = 0.8 + 0.3
    # 0.0 / 1 + 1 * 0.2 * 2 / (1 + 1) = 0.0 + 0.2
    plain = scores(THREE, [0.5, 0.3, 0.2], PAPER, none_in_flight)
    assert plain == pytest.approx([0.8333333333, 1.1, 0.2])


def test_the_exploration_constant_scales_the_second_term_of_equation_1_alone() -> None:
    # 0.5 + 3 / 3, 0.8 + 3 * 0.3, 0 + 3 * 0.2
    bold = scores(THREE, [0.5, 0.3, 0.2], PAPER.model_copy(update={"c": 3.0}), none_in_flight)
    assert bold == pytest.approx([1.5, 1.7, 0.6])


def test_equation_6_worked_by_hand() -> None:
    # lambda = 4 / (4 + 8) = 1 / 3
    # a: 2/3 * 0.5 + 1/3 * (2 + 4 * 0.255 + 0.001) = 0.333333 + 1/3 * 3.021 = 1.340333
    # b: 2/3 * 0.3 + 1/3 * (1 + 4 * 0.240 + 0.001) = 0.200000 + 1/3 * 1.961 = 0.853667
    # c: 2/3 * 0.2 + 1/3 * (1 + 4 * 0.000 + 0.001) = 0.133333 + 1/3 * 1.001 = 0.467000
    # which add up to 2.661
    # 1.340333 / 2.661 = 0.503696, 0.853667 / 2.661 = 0.320807, 0.467 / 2.661 = 0.175498
    assert shaped_priors(THREE, PAPER) == pytest.approx([0.503696, 0.320807, 0.175498], abs=1e-6)


def test_equation_2_is_equation_1_with_the_shaped_prior() -> None:
    # P~ from above, sqrt(4) = 2
    # 0.5 + 0.503696 * 2 / 3 = 0.835797
    # 0.8 + 0.320807 * 2 / 2 = 1.120807
    # 0.0 + 0.175498 * 2 / 2 = 0.175498
    shaped = scores(THREE, shaped_priors(THREE, PAPER), PAPER, none_in_flight)
    assert shaped == pytest.approx([0.835797, 1.120807, 0.175498], abs=1e-6)


@pytest.mark.parametrize(
    ("time_ratio", "value"),
    [
        (0.25, 0.75),  # four times as fast: 1 - 0.25
        (1.0, 0.0),  # as fast as the baseline
        (3.0, 0.0),  # slower: 1 - 3 = -2, clipped
        (0.0, 1.0),  # the limit
    ],
)
def test_equation_3_worked_by_hand(time_ratio: float, value: float) -> None:
    assert value_of(time_ratio) == value


def test_a_node_is_full_with_twice_the_root_of_its_visits_and_one() -> None:
    # ceil(2 sqrt(1)) = 2, ceil(2 sqrt(2)) = ceil(2.83), ceil(2 sqrt(4)) = 4, ceil(2 sqrt(5)) = ceil(4.47), 2 sqrt(9)
    assert [child_limit(visits) for visits in (0, 1, 3, 4, 8)] == [2, 3, 4, 5, 6]


def test_what_is_in_flight_counts_in_the_denominator_and_under_the_root() -> None:
    # Edge 2 carries one: counts 2, 2, 1; sqrt(5) = 2.236068
    # 0.5 + 0.5 * 2.236068 / 3 = 0.872678
    # 0.8 + 0.3 * 2.236068 / 3 = 1.023607 (its Q stays 0.8: nothing is lost virtually)
    # 0.0 + 0.2 * 2.236068 / 2 = 0.223607
    busy = scores(THREE, [0.5, 0.3, 0.2], PAPER, lambda edge: int(edge == 2))
    assert busy == pytest.approx([0.872678, 1.023607, 0.223607], abs=1e-6)


def test_two_rounds_in_flight_spread_over_two_equal_edges() -> None:
    twins = [edge(number, prior=0.5, visits=1, total=0.5, experience=0.15) for number in (1, 2)]
    priors = shaped_priors(twins, PAPER)
    first = scores(twins, priors, PAPER, none_in_flight)
    assert first[0] == first[1]
    second = scores(twins, priors, PAPER, lambda edge: int(edge == 1))
    assert second[1] > second[0]


SETTINGS = st.builds(
    PuctSettings,
    c=st.floats(0.01, 100),
    k=st.floats(0.01, 1000),
    m=st.floats(0.01, 0.99),
    rho=st.floats(0, 100),
    epsilon=st.floats(1e-6, 1),
)


@st.composite
def siblings(draw: st.DrawFn, most_visits: int = 1000) -> list[Edge]:
    """The edges of one node. Their priors are 64ths, so that they sum to 1 without rounding."""
    count = draw(st.integers(1, 8))
    cuts = sorted(draw(st.lists(st.integers(0, 64), min_size=count - 1, max_size=count - 1)))
    edges = []
    for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, 64], strict=True), start=1):
        visits = draw(st.integers(0, most_visits))
        mean, experience = (draw(st.floats(0, 1)) if visits else 0.0 for _ in range(2))
        edges.append(edge(number, prior=(high - low) / 64, visits=visits, total=mean * visits, experience=experience))
    return edges


@given(siblings(most_visits=0), SETTINGS)
def test_before_the_first_visit_the_shaped_prior_is_the_prior(edges: list[Edge], settings: PuctSettings) -> None:
    assert shaped_priors(edges, settings) == [edge.prior for edge in edges]


@given(siblings(), SETTINGS)
def test_the_shaped_prior_is_a_distribution_that_forgets_nobody(edges: list[Edge], settings: PuctSettings) -> None:
    priors = shaped_priors(edges, settings)
    assert sum(priors) == pytest.approx(1)
    if sum(edge.visit_count for edge in edges):
        assert min(priors) > 0


@given(siblings(), SETTINGS, st.data())
def test_one_more_in_flight_raises_every_sibling_and_never_the_edge_against_them(
    edges: list[Edge], settings: PuctSettings, data: st.DataObject
) -> None:
    unvalued = [each.model_copy(update={"total_value": 0.0}) for each in edges]
    busy = data.draw(st.integers(0, len(edges) - 1))
    priors = shaped_priors(unvalued, settings)
    before = scores(unvalued, priors, settings, none_in_flight)
    after = scores(unvalued, priors, settings, lambda edge: int(edge == busy + 1))
    for sibling in set(range(len(edges))) - {busy}:
        assert after[sibling] >= before[sibling]
        assert after[busy] * before[sibling] <= before[busy] * after[sibling] * (1 + 1e-9)
