"""Live progress in a terminal: a tree, the best so far, rounds left; plain lines where it is no terminal."""

from __future__ import annotations

from typing import Protocol, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from ...memory.schema import (
    BestConfirmed,
    BestRefuted,
    Event,
    LeaseClosed,
    LeaseStatus,
    MeasuredTiming,
    Node,
    RoundAborted,
    RoundJudged,
    SearchEnded,
    SearchResumed,
    SearchStarted,
)
from ...memory.search_state import SearchState
from .view import best_node

MAX_TREE_LINES = 24


class Progress(Protocol):
    """Hears every event of a running search."""

    async def on_event(self, event: Event, state: SearchState) -> None: ...


class PlainProgress:
    """One line an outcome."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    async def on_event(self, event: Event, state: SearchState) -> None:
        line = outcome(event, state)
        if line:
            print(line, file=self._stream, flush=True)


class LiveProgress:
    """The tree, redrawn at every event; a context manager."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    async def on_event(self, event: Event, state: SearchState) -> None:
        line = outcome(event, state)
        if line:
            self._console.print(Text(line, no_wrap=True, overflow="ellipsis"))
        self._live.update(Group(_tree(state), Text(_summary(state), style="bold")), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)


def outcome(event: Event, state: SearchState) -> str | None:
    """What a reader of plain lines should know of an event; None for what is only a step on the way."""
    match event.body:
        case SearchStarted(search=search):
            agents = ", ".join(f"{slots.agent}:{slots.count}" for slots in search.agents)
            return f"search {search.id}: {search.task_name}, {agents}, {search.rounds} rounds; the seed is judged"
        case SearchResumed(rounds=rounds):
            return f"search {state.search.id} goes on: {state.rounds_done} of {rounds} rounds are done"
        case RoundJudged(edge=edge):
            child = state.edges[edge].child
            assert child is not None
            return _judged(state, state.nodes[child])
        case RoundAborted(reason=reason):
            return f"the judge could not answer, the round is repeated: {reason}"
        case LeaseClosed(lease=lease, reason=reason):
            return f"lease {lease} ended without a submission: {reason}"
        case BestConfirmed(node=node, evaluation=evaluation) if isinstance(evaluation.timing, MeasuredTiming):
            return f"node {node} measured again on fresh inputs: {evaluation.message}"
        case BestRefuted(node=node, evaluation=evaluation):
            return f"node {node} did not pass again: {evaluation.message}"
        case SearchEnded(status=status, reason=reason):
            return f"{status}: {reason}"
        case _:
            return None


def _judged(state: SearchState, node: Node) -> str:
    assert node.parent_edge is not None
    edge = state.edges[node.parent_edge]
    width = len(str(state.rounds))
    return (
        f"round {node.id:>{width}}/{state.rounds}  {_speed(node):>8}  best {_best(state):>7}  "
        f"{edge.parent} -> {node.id}  {edge.rationale}"
    )


def _speed(node: Node) -> str:
    return "rejected" if node.time_ratio is None else f"{1 / node.time_ratio:.2f}x"


def _best(state: SearchState) -> str:
    node = best_node(state)
    return "-" if node is None or node.time_ratio is None else f"{max(1.0, 1 / node.time_ratio):.2f}x"


def _summary(state: SearchState) -> str:
    working = sum(lease.status is LeaseStatus.OPEN for lease in state.leases.values())
    judging = sum(edge.in_flight for edge in state.edges.values())
    left = f"rounds left {state.rounds - state.rounds_done} of {state.rounds}"
    return f"best {_best(state)}   {left}   agents at work {working}   at the judge {judging}"


def _tree(state: SearchState) -> Tree:
    """The tree, its newest nodes and their ancestors where it is too long for the screen."""
    shown = set(list(state.nodes)[-MAX_TREE_LINES:])
    for newest in list(shown):
        ancestor = _parent(state, newest)
        while ancestor is not None and ancestor not in shown:
            shown.add(ancestor)
            ancestor = _parent(state, ancestor)
    best = best_node(state)
    branches = {0: Tree(_label(state, state.nodes[0], best))}
    for node in sorted(shown - {0}):
        parent = _parent(state, node)
        assert parent is not None
        branches[node] = branches[parent].add(_label(state, state.nodes[node], best))
    return branches[0]


def _parent(state: SearchState, node: int) -> int | None:
    edge = state.nodes[node].parent_edge
    return None if edge is None else state.edges[edge].parent


def _label(state: SearchState, node: Node, best: Node | None) -> Text:
    if node.parent_edge is None:
        return Text(f"{state.search.task_name}: seed 1.00x")
    edge = state.edges[node.parent_edge]
    style = "bold green" if best and node.id == best.id else "red" if node.time_ratio is None else ""
    return Text(f"{node.id}: {_speed(node)} {edge.rationale}", style=style, no_wrap=True, overflow="ellipsis")
