"""Where the next round goes: small trees, built by the events that make them."""

from __future__ import annotations

import copy

from search_records import Growing

from kernelguild.memory.search_state import SearchState
from kernelguild.server.search.selection import Expand, Judge, select

FAILED = None


def two_children(first: float | None, second: float | None) -> Growing:
    """Edges 1 and 2 leave the root, for nodes 1 and 2; with N(s) = 2 the root holds ceil(2 sqrt(3)) = 4 children."""
    search = Growing()
    search.propose(0, {1: 1, 2: 1})
    search.judge(1, first)
    search.judge(2, second)
    return search


def four_children(*values: float | None) -> Growing:
    """A root that is fully expanded: N(s) = 4 allows ceil(2 sqrt(5)) = 5 children, so a fifth stands there too."""
    search = Growing()
    search.propose(0, dict.fromkeys(range(1, 6), 1.0))
    for edge, value in enumerate((*values, FAILED), start=1):
        search.judge(edge, value)
    # N(s) = 5 allows ceil(2 sqrt(6)) = 5.
    return search


def chosen(search: Growing, *exhausted: int) -> tuple[str, int] | None:
    """What is done next, and to which node or edge."""
    match select(search.state, exhausted):
        case Expand(node=node):
            return "expand", node
        case Judge(edge=edge):
            return "judge", edge.id
        case None:
            return None


def test_a_search_begins_with_an_agent_at_the_root() -> None:
    assert select(Growing().state, ()) == Expand(0, ())


def test_a_waiting_proposal_of_highest_prior_is_judged_without_a_new_session() -> None:
    search = Growing()
    search.propose(0, {1: 1, 2: 3, 3: 2})
    found = select(search.state, ())
    assert found == Judge(search.state.edges[2], (2,))
    search.judge(2, 0.5)
    assert chosen(search) == ("judge", 3)


def test_of_equal_priors_the_older_proposal_is_judged_first() -> None:
    search = Growing()
    search.propose(0, {1: 1, 2: 1})
    assert chosen(search) == ("judge", 1)


def test_a_proposal_that_is_being_judged_is_not_judged_twice() -> None:
    search = Growing()
    search.propose(0, {1: 2, 2: 1})
    search.start(1)
    assert chosen(search) == ("judge", 2)


def test_a_node_gets_agents_until_it_is_full_and_then_its_best_child_does() -> None:
    search = two_children(0.9, 0.1)
    assert chosen(search) == ("expand", 0)  # 2 children of 4
    search.propose(0, {3: 1})
    search.judge(3, 0.1)
    assert chosen(search) == ("expand", 0)  # 3 children of ceil(2 sqrt(4)) = 4
    search.propose(0, {4: 1})
    search.judge(4, 0.1)
    assert chosen(search) == ("expand", 0)  # 4 children of ceil(2 sqrt(5)) = 5
    search.propose(0, {5: 1})
    search.judge(5, 0.1)
    assert select(search.state, ()) == Expand(1, (1,))  # 5 children of ceil(2 sqrt(6)) = 5


def test_the_walk_follows_the_score_and_not_the_last_value_alone() -> None:
    """Edge 1 was good and is well visited; its subtree's failures count against it by equations 4 and 2."""
    search = four_children(0.6, 0.5, 0.1, 0.1)
    assert chosen(search) == ("expand", 1)
    search.propose(1, {11: 1, 12: 1})
    search.judge(6, FAILED)
    search.judge(7, FAILED)
    # The root: N(s) = 7 allows ceil(2 sqrt(8)) = 6 children.
    search.propose(0, {13: 1})
    search.judge(8, FAILED)
    # N(s) = 8 allows 6. Q(1) = 0.6 / 3 = 0.2, Q(2) = 0.5. By equation 6 (lambda = 1/2, EXP(1) = 0.18 * 0.49 = 0.0882,
    # EXP(2) = 0.15): raw(1) = 0.05 + 0.5 * (3 + 0.3528 + 0.001) = 1.7269, raw(2) = 0.05 + 0.5 * (1 + 0.6 + 0.001)
    # = 0.8505. P~(1) is larger, but U(1) - U(2) = sqrt(8) / sum * (1.7269 / 4 - 0.8505 / 2) is small beside 0.3.
    assert select(search.state, ()) == Expand(2, (2,))


def test_of_equal_scores_the_older_edge_is_followed() -> None:
    assert chosen(four_children(0.5, 0.5, 0.5, 0.5)) == ("expand", 1)


def test_a_failed_node_is_never_entered_however_good_its_prior() -> None:
    search = Growing()
    search.propose(0, {1: 1000, 2: 1, 3: 1, 4: 1, 5: 1})
    for edge, value in ((1, FAILED), (2, FAILED), (3, 0.1), (4, FAILED), (5, FAILED)):
        search.judge(edge, value)
    assert select(search.state, ()) == Expand(3, (3,))


def test_where_every_child_failed_the_full_node_is_widened() -> None:
    assert select(four_children(FAILED, FAILED, FAILED, FAILED).state, ()) == Expand(0, ())


def test_a_leased_node_is_not_leased_again() -> None:
    search = four_children(0.9, 0.5, 0.1, 0.1)
    assert chosen(search) == ("expand", 1)
    lease = search.lease(1)
    assert chosen(search) == ("expand", 2)
    search.fail(lease)
    assert chosen(search) == ("expand", 1)


def test_the_second_agent_goes_elsewhere_where_two_children_are_alike() -> None:
    search = four_children(0.5, 0.5, 0.1, 0.1)
    search.lease(1)
    assert chosen(search) == ("expand", 2)


def test_below_a_leased_node_the_search_goes_on() -> None:
    search = four_children(0.9, 0.1, 0.1, 0.1)
    search.propose(1, {11: 1, 12: 1})
    search.lease(1)
    assert select(search.state, ()) == Judge(search.state.edges[6], (1, 6))


def test_an_exhausted_node_gets_no_agent_but_its_children_do() -> None:
    search = two_children(0.9, 0.1)
    assert chosen(search) == ("expand", 0)
    assert chosen(search, 0) == ("expand", 1)
    assert chosen(search, 0, 1) == ("expand", 2)
    assert chosen(search, 0, 1, 2) is None


def test_nothing_is_chosen_while_everything_waits_for_others() -> None:
    search = Growing()
    lease = search.lease(0)
    assert chosen(search) is None  # the only node is leased
    search.fail(lease)
    search.propose(0, {1: 1, 2: 1})
    search.start(1)
    search.start(2)
    assert chosen(search) is None  # full, and all at the judge: the outcome is waited for
    search.end(2, 0.5)
    assert chosen(search) == ("expand", 0)


def test_the_choice_is_the_same_for_a_state_and_for_the_fold_of_its_stored_log() -> None:
    search = four_children(0.3, 0.7, 0.7, FAILED)
    search.propose(2, {11: 1, 12: 2})
    search.judge(7, 0.2)
    search.judge(6, 0.2)
    kept = copy.deepcopy(search.state)
    stored = [type(event).model_validate_json(event.model_dump_json()) for event in search.events]
    assert select(search.state, ()) == select(SearchState.of(stored), ()) == select(search.state, ())
    assert search.state == kept
