"""One tree search: its settings, nodes, edges, leases and agent sessions."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from .base import ContentId, Record, StoredRecord
from .candidate import Candidate
from .strategies import STRATEGIES


class SearchStatus(StrEnum):
    """Where a search stands."""

    RUNNING = "running"
    FINISHED = "finished"
    """The budget is spent, or nothing is left to propose."""
    STOPPED = "stopped"
    """Ended by the user; can be resumed."""


class PuctSettings(Record):
    """The constants of TrAgent, equations 1-6; the values come from `agents_cfg/search.yaml`."""

    c: float = Field(gt=0)
    """Exploration constant of equations 1 and 2."""
    k: float = Field(gt=0)
    """lambda_s = N(s) / (N(s) + k) in equation 6."""
    m: float = Field(gt=0, lt=1)
    """Smoothing of EXP in equation 5."""
    rho: float = Field(ge=0)
    """Weight of EXP in equation 6."""
    epsilon: float = Field(gt=0)
    """Floor of equation 6."""


class AgentSlots(Record):
    """How many sessions of one kind of agent run at a time, such as `tuner:2`."""

    agent: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    count: int = Field(ge=1, le=64)


class Search(StoredRecord):
    """What a search was started with; everything that happens later is an event."""

    id: ContentId
    task_id: ContentId
    task_name: str
    puct: PuctSettings
    agents: tuple[AgentSlots, ...] = Field(min_length=1)
    rounds: int = Field(ge=1)
    """A round judges exactly one new candidate."""
    seed: int = Field(ge=0)
    """Of the agents' random generators; the judge never sees it."""
    created_at_s: float


class Proposal(Record):
    """One proposed action: a whole candidate with its prior, and why."""

    candidate: Candidate
    prior: float = Field(ge=0, allow_inf_nan=False)
    """Relative weight; priors of one submission are normalised to sum to 1."""
    rationale: str = Field(max_length=4000)
    direction: str | None = None
    strategy: str | None = None
    parameters: dict[str, int | str] | None = None
    """Where the task's template rendered the candidate: the parameters that differ from their defaults."""

    @model_validator(mode="after")
    def _strategy_belongs_to_direction(self) -> Proposal:
        if self.direction is not None and self.direction not in STRATEGIES:
            raise ValueError(f"unknown direction {self.direction!r} (allowed: {', '.join(STRATEGIES)})")
        if self.strategy is not None and self.strategy not in STRATEGIES.get(self.direction or "", ()):
            allowed = ", ".join(STRATEGIES.get(self.direction or "", ())) or "none without a direction"
            raise ValueError(f"strategy {self.strategy!r} is not of direction {self.direction!r} (allowed: {allowed})")
        return self


class Edge(StoredRecord):
    """A proposed action (s, a) with the statistics of equations 4 and 5. N = 0 until it is judged."""

    id: int = Field(ge=1)
    """Numbered within the search, in the order of submission."""
    parent: int
    """The node that the action leaves."""
    child: int | None = None
    """The node that it leads to; None until it is judged."""
    candidate_id: ContentId
    prior: float = Field(ge=0, le=1)
    """P(s, a)."""
    visit_count: int = 0
    """N(s, a)."""
    total_value: float = 0.0
    """W(s, a)."""
    experience: float = 0.0
    """EXP(s, a)."""
    in_flight: bool = False
    """Whether it is being judged right now."""
    rationale: str = ""
    direction: str | None = None
    strategy: str | None = None
    parameters: dict[str, int | str] | None = None
    """As proposed; None where the candidate did not come from the task's template."""
    agent: str = ""

    @property
    def value(self) -> float:
        """Q(s, a) = W / N; 0 before the first visit."""
        return self.total_value / self.visit_count if self.visit_count else 0.0


class Node(StoredRecord):
    """A decision state: a candidate and, through its parents, its history. Node 0 is the root."""

    id: int = Field(ge=0)
    parent_edge: int | None
    """None for the root."""
    depth: int = Field(ge=0)
    candidate_id: ContentId
    evaluation_id: ContentId
    value: float = Field(ge=0, le=1)
    """V of equation 3; 0 where the candidate did not pass."""
    time_ratio: float | None = None
    """time(candidate) / time(baseline); None where nothing was measured."""
    expandable: bool
    """False for a candidate that did not pass: no agent is sent there."""


class LeaseStatus(StrEnum):
    """Where a lease stands."""

    OPEN = "open"
    SUBMITTED = "submitted"
    FAILED = "failed"
    EXPIRED = "expired"


class Lease(StoredRecord):
    """One agent's exclusive right to expand one node; released exactly once."""

    id: int = Field(ge=1)
    node: int
    agent: str
    path: tuple[int, ...]
    """The edges from the root to the node, as selection walked them."""
    status: LeaseStatus = LeaseStatus.OPEN
    opened_at_s: float
    expires_at_s: float


class Session(StoredRecord):
    """One run of one agent under a lease."""

    lease: int
    agent: str
    outcome: str
    """`submitted`, or why it ended without a submission."""
    proposals: int = Field(ge=0)
    started_at_s: float
    ended_at_s: float
