"""A search in the making, event by event, without a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernelguild.memory.schema import (
    AgentSlots,
    Candidate,
    Event,
    EventBody,
    FunctionReference,
    Language,
    LeaseClosed,
    LeaseOpened,
    Parameter,
    Proposal,
    ProposalsSubmitted,
    PuctSettings,
    RoundJudged,
    RoundStarted,
    Search,
    SearchStarted,
    Session,
    StrategyParameters,
    Task,
    Template,
)
from kernelguild.memory.search_state import SearchState

EXAMPLES = Path(__file__).parents[3] / "examples"
SEARCH_ID = "5" * 32
PAPER = PuctSettings(c=1, k=8, m=0.7, rho=4, epsilon=1e-3)


def candidate(number: int) -> Candidate:
    """A program of its own for each number; 0 is the seed."""
    return Candidate(language=Language.CPP, source=f"// {number}")


def proposal(number: int, prior: float = 1.0) -> Proposal:
    return Proposal(candidate=candidate(number), prior=prior, rationale=f"try {number}")


TASK = Task(
    name="a_task",
    reference=FunctionReference(path="reference.py", source="def f(x): return x", function="f"),
    entry="f",
    seed=candidate(0),
)


SMALL = TASK.model_copy(
    update={
        "template": Template(
            language=Language.CPP,
            path="small.cpp",
            source="// width {{ width }} unroll {{ unroll }} tail {{ tail }}",
            strategies=(
                StrategyParameters(
                    strategy="vectorized_load",
                    prior=1,
                    parameters=(Parameter(name="width", values=(1, 2, 4, 8), default=1),),
                ),
                StrategyParameters(
                    strategy="small_unroll",
                    prior=1,
                    parameters=(Parameter(name="unroll", values=(1, 2, 4, 8), default=1),),
                ),
                StrategyParameters(
                    strategy="tail_isolation",
                    prior=1,
                    requires=("vectorized_load",),
                    parameters=(Parameter(name="tail", values=("scalar", "masked"), default="scalar"),),
                ),
            ),
        )
    }
)
"""A task whose template has few programs: 4 widths x 4 unrollings, and a tail where there is a width."""


def search_started(
    task: Task = TASK, *, agents: tuple[AgentSlots, ...] = (AgentSlots(agent="tuner", count=1),), rounds: int = 16
) -> SearchStarted:
    search = Search(
        id=SEARCH_ID,
        task_id=task.id,
        task_name=task.name,
        puct=PAPER,
        agents=agents,
        rounds=rounds,
        seed=7,
        created_at_s=1.0,
    )
    return SearchStarted(search=search, task=task, root_candidate_id=task.seed.id, root_evaluation_id="e" * 32)


class Growing:
    """The state of a search that a test grows by saying what happened."""

    def __init__(self, task: Task = TASK) -> None:
        self.events = [Event(search_id=SEARCH_ID, sequence=1, at_s=1.0, body=search_started(task))]
        self.state = SearchState.of(self.events)

    def happen(self, body: EventBody) -> None:
        event = Event(search_id=SEARCH_ID, sequence=self.state.sequence + 1, at_s=1.0, body=body)
        self.events.append(event)
        self.state.apply(event)

    def path_to(self, node: int) -> tuple[int, ...]:
        edge = self.state.nodes[node].parent_edge
        return () if edge is None else (*self.path_to(self.state.edges[edge].parent), edge)

    def lease(self, node: int) -> int:
        """An agent is sent to a node; returns the lease's number."""
        lease = len(self.state.leases) + 1
        path = self.path_to(node)
        self.happen(LeaseOpened(lease=lease, node=node, path=path, agent="tuner", expires_at_s=100.0))
        return lease

    def fail(self, lease: int) -> None:
        self.happen(LeaseClosed(lease=lease, status="failed", reason="no answer"))

    def submit(self, lease: int, *proposals: Proposal) -> None:
        session = Session(
            lease=lease, agent="tuner", outcome="submitted", proposals=len(proposals), started_at_s=1.0, ended_at_s=2.0
        )
        self.happen(ProposalsSubmitted(lease=lease, proposals=proposals, duplicates=0, session=session))

    def propose(self, node: int, priors: Mapping[int, float]) -> None:
        """A lease that brings proposals: program number -> prior."""
        self.submit(self.lease(node), *(proposal(number, prior) for number, prior in priors.items()))

    def start(self, edge: int) -> None:
        self.happen(RoundStarted(edge=edge, path=(*self.path_to(self.state.edges[edge].parent), edge)))

    def end(self, edge: int, value: float | None) -> None:
        """The judge answers: V, or None where the program did not pass."""
        self.happen(
            RoundJudged(
                edge=edge,
                path=(*self.path_to(self.state.edges[edge].parent), edge),
                evaluation_id="e" * 32,
                value=value or 0.0,
                time_ratio=None if value is None else 1 - value,
                passed=value is not None,
            )
        )

    def judge(self, edge: int, value: float | None) -> None:
        self.start(edge)
        self.end(edge, value)
