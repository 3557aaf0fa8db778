"""The agents without a model: `random` and `tuner`, both over the task's template."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...agents_cfg.settings import RandomSettings, TunerSettings
from ...memory.errors import InputError
from ...memory.schema import DIRECTION_OF, Candidate, Proposal, StrategyParameters, Task, Template
from ...tools.template import Assignment, Value, canonicalise, random_assignment, render, strategies_in_use
from .agent import LeaseContext
from .track_record import TrackRecord

MAX_RATIONALE_CHARS = 500


@dataclass(frozen=True)
class Move:
    """A change of an assignment under one strategy, and how promising it is."""

    assignment: Assignment
    strategy: str | None
    weight: float


class RandomAgent:
    """Programs drawn uniformly from the template, wherever the lease is."""

    def __init__(self, settings: RandomSettings, template: Template) -> None:
        self._settings = settings
        self._template = template

    async def propose(self, context: LeaseContext) -> list[Proposal]:
        rng = random.Random(context.seed)
        draws = (Move(random_assignment(self._template, rng), None, 1.0) for _ in range(self._settings.draws))
        return _new_programs(context, self._template, draws, self._settings.proposals)


class TunerAgent:
    """Opens a strategy or changes an open one, by its declared weight times what this search saw of it."""

    def __init__(self, settings: TunerSettings, template: Template) -> None:
        self._settings = settings
        self._template = template

    async def propose(self, context: LeaseContext) -> list[Proposal]:
        rng = random.Random(context.seed)
        record = TrackRecord.of(context.state, self._settings.improvement)
        base = assignment_of(context)
        moves = _merged(
            _moves(self._template, base, record, self._settings)
            + _repeats(self._template, base, record, self._settings)
        )
        draws = _without_replacement(moves, self._settings.draws, rng)
        return _new_programs(context, self._template, draws, self._settings.proposals)


def template_of(task: Task) -> Template:
    """The task's template.

    Raises:
        InputError: it declares none.
    """
    if task.template is None:
        raise InputError(
            f"task {task.name} declares no template, and the agents tuner and random know nothing else to change:"
            " add one to its task.yaml, as examples/softmax_cpp does"
        )
    return task.template


def assignment_of(context: LeaseContext) -> Assignment:
    """The parameters of the node's program; the root's are the defaults."""
    edge = context.node.parent_edge
    return {} if edge is None else context.state.edges[edge].parameters or {}


def _moves(template: Template, base: Assignment, record: TrackRecord, settings: TunerSettings) -> list[Move]:
    used = strategies_in_use(template, base)
    moves = []
    for entry in template.strategies:
        if used.issuperset(entry.requires):
            in_use = entry.strategy in used
            changes = _changes(entry, base) if in_use else _openings(entry)
            weight = entry.prior * (settings.adjust_weight if in_use else 1.0)
            simplicity = [2.0 ** -len(change) for change in changes]
            for change, share in zip(changes, simplicity, strict=True):
                likely = record.promise(entry.strategy, change) * share / sum(simplicity)
                moves.append(Move(canonicalise(template, {**base, **change}), entry.strategy, weight * likely))
    return moves


def _repeats(template: Template, base: Assignment, record: TrackRecord, settings: TunerSettings) -> list[Move]:
    """What helped elsewhere, each by itself and all of it together, on top of this program."""
    ascending = sorted(record.successes, key=lambda success: success.gain)
    repeats = [(success, success.change) for success in ascending]
    if len(ascending) > 1:
        # The larger gain wins where two give one parameter different values.
        repeats.append((ascending[-1], {name: value for each in ascending for name, value in each.change.items()}))
    moves = []
    for success, change in repeats:
        assignment = canonicalise(template, {**base, **change})
        if assignment != base:
            weight = settings.repeat_weight * success.gain * record.promise(success.strategy, success.change)
            moves.append(Move(assignment, success.strategy, weight))
    return moves


def _merged(moves: list[Move]) -> list[Move]:
    """One move for each program, with the weights of all that lead to it and the strategy of the heaviest."""
    ways: dict[frozenset[tuple[str, Value]], list[Move]] = {}
    for move in moves:
        ways.setdefault(frozenset(move.assignment.items()), []).append(move)
    heaviest = [max(same, key=lambda move: move.weight) for same in ways.values()]
    weights = [sum(move.weight for move in same) for same in ways.values()]
    return [replace(move, weight=weight) for move, weight in zip(heaviest, weights, strict=True)]


def _changes(entry: StrategyParameters, base: Assignment) -> list[dict[str, Value]]:
    """One parameter of an open strategy set to another value."""
    return [
        {parameter.name: value}
        for parameter in entry.parameters
        for value in parameter.values
        if value != base.get(parameter.name, parameter.default)
    ]


def _openings(entry: StrategyParameters) -> list[dict[str, Value]]:
    """All ways to open a strategy: its parameters together, since one alone may be of no use."""
    openings: list[dict[str, Value]] = [{}]
    for parameter in entry.parameters:
        others = [value for value in parameter.values if value != parameter.default]
        openings += [{**known, parameter.name: value} for known in openings for value in others]
    return openings[1:]


def _without_replacement(moves: list[Move], count: int, rng: random.Random) -> Iterator[Move]:
    """Moves in random order, the heavier the earlier (Efraimidis and Spirakis: keys u^(1/w))."""
    keyed = sorted(moves, key=lambda move: rng.random() ** (1 / move.weight), reverse=True)
    return iter(keyed[:count])


def _new_programs(context: LeaseContext, template: Template, draws: Iterator[Move], wanted: int) -> list[Proposal]:
    """The first draws that render programs which this search has not seen."""
    base = assignment_of(context)
    seen = {*context.state.candidate_ids, render(template, {}).id}
    proposals: list[Proposal] = []
    for move in draws:
        candidate = render(template, move.assignment)
        if candidate.id not in seen:
            seen.add(candidate.id)
            proposals.append(_proposal(move, candidate, template, base))
        if len(proposals) == wanted:
            break
    return proposals


def _proposal(move: Move, candidate: Candidate, template: Template, base: Assignment) -> Proposal:
    return Proposal(
        candidate=candidate,
        prior=move.weight,
        rationale=_describe(template, base, move.assignment)[:MAX_RATIONALE_CHARS],
        direction=DIRECTION_OF[move.strategy] if move.strategy else None,
        strategy=move.strategy,
        parameters=dict(move.assignment),
    )


def _describe(template: Template, before: Assignment, after: Assignment) -> str:
    changes = []
    for parameter in template.parameters:
        old, new = (side.get(parameter.name, parameter.default) for side in (before, after))
        if old != new:
            changes.append(f"{parameter.name} {old} -> {new}")
    return ", ".join(changes)
