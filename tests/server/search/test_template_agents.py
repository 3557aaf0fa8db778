"""The agents without a model, on the example's own template and on a small one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from search_records import EXAMPLES, SMALL, TASK, Growing

from kernelguild.memory.errors import InputError
from kernelguild.memory.schema import (
    DIRECTION_OF,
    AgentSlots,
    Proposal,
    Task,
)
from kernelguild.server.search.agent import LeaseContext
from kernelguild.server.search.roster import AGENTS, parse_agents, recruit
from kernelguild.server.search.template_agents import template_of
from kernelguild.tools.tasks import load_task
from kernelguild.tools.template import render, strategies_in_use

pytestmark = pytest.mark.anyio
SOFTMAX = load_task(EXAMPLES / "softmax_cpp")
STRATEGY_OF = {"width": "vectorized_load", "unroll": "small_unroll", "tail": "tail_isolation"}
BOTH = pytest.mark.parametrize("name", ["tuner", "random"])


class Trial:
    """A search on a task with a template, which a test grows."""

    def __init__(self, task: Task = SMALL) -> None:
        self.search = Growing(task)
        self.template = template_of(task)
        self.agents = recruit(parse_agents("tuner,random"), task)

    async def proposals(self, name: str = "tuner", *, node: int = 0, seed: int = 0) -> list[Proposal]:
        """Of one lease."""
        state = self.search.state
        return await self.agents[name].propose(LeaseContext(node=state.nodes[node], state=state, seed=seed))

    async def many(self, *, node: int) -> list[Proposal]:
        """Of the tuner's leases with many a seed."""
        return [proposal for seed in range(60) for proposal in await self.proposals(node=node, seed=seed)]

    def add(self, node: int, proposals: Sequence[Proposal]) -> None:
        self.search.submit(self.search.lease(node), *proposals)

    def change(self, node: int, value: float | None, **change: int | str) -> None:
        """One parameter of a node's program was changed and judged: V, or None where it did not pass."""
        edge = self.search.state.nodes[node].parent_edge
        before = {} if edge is None else self.search.state.edges[edge].parameters or {}
        parameters = {**before, **change}
        (strategy,) = (STRATEGY_OF[name] for name in change)
        proposal = Proposal(
            candidate=render(self.template, parameters),
            prior=1,
            rationale="by hand",
            direction=DIRECTION_OF[strategy],
            strategy=strategy,
            parameters=parameters,
        )
        self.add(node, [proposal])
        self.search.judge(len(self.search.state.edges), value)


@BOTH
@pytest.mark.parametrize("seed", range(10))
async def test_every_proposal_is_a_new_program_with_the_parameters_that_render_it(name: str, seed: int) -> None:
    trial = Trial(SOFTMAX)
    seen = {SOFTMAX.seed.id, render(trial.template, {}).id}
    for node in (0, 1, 2):
        proposals = await trial.proposals(name, node=node, seed=seed)
        assert proposals
        for proposal in proposals:
            assert proposal.candidate.id not in seen
            assert proposal.parameters
            assert render(trial.template, proposal.parameters) == proposal.candidate
            assert proposal.prior > 0
            assert proposal.rationale
            seen.add(proposal.candidate.id)
        trial.add(node, proposals)
        trial.search.judge(len(trial.search.state.edges), 0.5)


@BOTH
async def test_the_same_seed_brings_the_same_proposals_and_another_brings_others(name: str) -> None:
    trial = Trial(SOFTMAX)
    first = await trial.proposals(name, seed=1)
    assert await Trial(SOFTMAX).proposals(name, seed=1) == first
    assert await trial.proposals(name, seed=2) != first


@BOTH
@pytest.mark.parametrize("seed", range(20))
async def test_no_strategy_is_in_use_without_what_it_requires(name: str, seed: int) -> None:
    trial = Trial(SOFTMAX)
    for proposal in await trial.proposals(name, seed=seed):
        used = strategies_in_use(trial.template, proposal.parameters or {})
        assert used
        assert all(used.issuperset(entry.requires) for entry in trial.template.strategies if entry.strategy in used)


async def test_the_tuner_changes_one_strategy_and_says_which() -> None:
    trial = Trial()
    trial.change(0, 0.5, width=8)
    seen = {}
    for proposal in await trial.many(node=1):
        assert proposal.direction == DIRECTION_OF[proposal.strategy or ""]
        seen[proposal.rationale] = (proposal.strategy, proposal.parameters)
    assert seen == {
        "width 8 -> 2": ("vectorized_load", {"width": 2}),
        "width 8 -> 4": ("vectorized_load", {"width": 4}),
        "unroll 1 -> 2": ("small_unroll", {"width": 8, "unroll": 2}),
        "unroll 1 -> 4": ("small_unroll", {"width": 8, "unroll": 4}),
        "unroll 1 -> 8": ("small_unroll", {"width": 8, "unroll": 8}),
        "tail scalar -> masked": ("tail_isolation", {"width": 8, "tail": "masked"}),
    }


async def test_the_tuner_leaves_closed_what_the_program_has_not_unlocked() -> None:
    assert {proposal.strategy for proposal in await Trial().many(node=0)} == {"vectorized_load", "small_unroll"}


async def test_the_tuner_proposes_first_and_gives_a_higher_prior_to_what_has_helped() -> None:
    trial = Trial()
    before = await trial.many(node=0)
    for value, ratio_saved in ((2, 0.3), (4, 0.5)):
        trial.change(0, ratio_saved, width=value)
        trial.change(0, None, unroll=value)
    after = await trial.many(node=0)
    weights = {proposal.strategy: proposal.prior for proposal in before}
    assert weights["vectorized_load"] == weights["small_unroll"]
    # Of three openings each, width 8 and unroll 8 are left. Means of Beta(1 + helped, 1 + not): 3/4 against 1/4.
    weights = {proposal.strategy: proposal.prior for proposal in after}
    assert weights["vectorized_load"] == pytest.approx(3 * weights["small_unroll"])
    first = [(await trial.proposals(seed=seed))[0].strategy for seed in range(60)]
    # Expected: 3/4 of 60; by chance below 36 once in two hundred, but the seeds are fixed.
    assert first.count("vectorized_load") >= 36


async def test_a_change_that_gained_nothing_over_its_parent_did_not_help_however_fast_the_program() -> None:
    helped, idle = Trial(), Trial()
    for trial, value in ((helped, 0.9), (idle, 0.5)):
        trial.change(0, 0.5, width=8)
        trial.change(1, value, unroll=2)
    weight = {
        name: {proposal.rationale: proposal.prior for proposal in await trial.many(node=1)}["unroll 1 -> 4"]
        for name, trial in (("helped", helped), ("idle", idle))
    }
    # Means after one trial: 2/3 against 1/3.
    assert weight["helped"] == pytest.approx(2 * weight["idle"])


async def test_what_helped_elsewhere_is_repeated_alone_and_all_together_before_anything_else() -> None:
    trial = Trial()
    trial.change(0, 0.5, width=8)
    trial.change(0, 0.2, unroll=2)
    trial.change(0, 0.0, unroll=8)
    trial.change(2, 0.6, unroll=4)
    prior = {proposal.rationale: proposal.prior for proposal in await trial.many(node=1)}
    # Unroll 2 gained 1 / 0.8 and unroll 4 then 0.8 / 0.4; where everything is repeated, the larger gain wins.
    assert prior["unroll 1 -> 4"] > prior["unroll 1 -> 2"] > prior["tail scalar -> masked"] > prior["unroll 1 -> 8"]
    together = [proposal.parameters for proposal in await trial.many(node=2) if "width 1 -> 8" in proposal.rationale]
    assert {"width": 8, "unroll": 2} in together
    assert {"width": 8, "unroll": 4} in together


async def test_a_value_that_was_rejected_is_tried_again_later_than_one_that_was_slow() -> None:
    rejected, slow = Trial(), Trial()
    for trial, value in ((rejected, None), (slow, 0.0)):
        trial.change(0, 0.5, width=8)
        trial.change(0, value, unroll=2)
    weight = {
        name: {proposal.rationale: proposal.prior for proposal in await trial.many(node=1)}["unroll 1 -> 2"]
        for name, trial in (("rejected", rejected), ("slow", slow))
    }
    # Means of the value: 1 / (2 + 4) against 1 / (2 + 1).
    assert weight["slow"] == pytest.approx(2 * weight["rejected"])


@BOTH
async def test_an_agent_that_has_proposed_every_program_brings_nothing(name: str) -> None:
    trial = Trial()
    every = [
        {"width": width, "unroll": unroll, "tail": tail}
        for width in (1, 2, 4, 8)
        for unroll in (1, 2, 4, 8)
        for tail in (("scalar", "masked") if width > 1 else ("scalar",))
    ]
    programs = [render(trial.template, parameters) for parameters in every]
    trial.add(0, [Proposal(candidate=program, prior=1, rationale="by hand") for program in programs])
    assert await trial.proposals(name) == []


@pytest.mark.parametrize("name", AGENTS)
def test_a_task_without_a_template_is_refused_with_the_cure(name: str) -> None:
    with pytest.raises(InputError, match=r"task a_task declares no template.*add one to its task\.yaml"):
        recruit([AgentSlots(agent=name, count=1)], TASK)


def test_agents_are_asked_for_by_name_and_count() -> None:
    assert parse_agents("tuner:2, random") == (
        AgentSlots(agent="tuner", count=2),
        AgentSlots(agent="random", count=1),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tunr:2", "no agent is called 'tunr' (did you mean tuner? known: tuner, random)"),
        ("", "no agent is called '' (known: tuner, random)"),
        ("tuner,", "no agent is called ''"),
        ("tuner:0", "'0' is no number of sessions from 1 to 64"),
        ("tuner:65", "'65' is no number"),
        ("tuner:-1", "'-1' is no number"),
        ("tuner:²", "'²' is no number"),
        ("tuner:2:3", "'2:3' is no number"),
        ("tuner,tuner", "tuner is named twice; write tuner:2 for two"),
    ],
)
def test_a_wrong_wish_for_agents_names_what_is_wrong_and_the_nearest(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        parse_agents(text)
