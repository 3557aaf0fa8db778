"""The events of a search: appended before they take effect; state is their fold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import ContentId, Record, StoredRecord
from .evaluation import Evaluation
from .search import Proposal, Search, Session
from .task import Task


class SearchStarted(Record):
    """The search exists and its root (the task's seed) has been judged."""

    kind: Literal["search_started"] = "search_started"
    search: Search
    task: Task
    """As it was then: a later edit of the task file must not change a search that goes on."""
    root_candidate_id: ContentId
    root_evaluation_id: ContentId


class LeaseOpened(Record):
    """Selection ended on a node that is not fully expanded, and an agent was sent there."""

    kind: Literal["lease_opened"] = "lease_opened"
    lease: int
    node: int
    path: tuple[int, ...]
    agent: str
    expires_at_s: float


class ProposalsSubmitted(Record):
    """The agent submitted: its proposals become edges, and the lease ends."""

    kind: Literal["proposals_submitted"] = "proposals_submitted"
    lease: int
    proposals: tuple[Proposal, ...]
    """New programs only: duplicates were dropped before."""
    duplicates: int = Field(ge=0)
    session: Session


class LeaseClosed(Record):
    """The lease ended without a submission."""

    kind: Literal["lease_closed"] = "lease_closed"
    lease: int
    status: Literal["failed", "expired"]
    reason: str
    session: Session | None = None


class RoundStarted(Record):
    """An edge goes to the judge."""

    kind: Literal["round_started"] = "round_started"
    edge: int
    path: tuple[int, ...]
    """The edges from the root, this edge last: equations 4 and 5 run along it."""


class RoundJudged(Record):
    """The judge answered: the edge gets its node, and the value is backed up."""

    kind: Literal["round_judged"] = "round_judged"
    edge: int
    path: tuple[int, ...]
    evaluation_id: ContentId
    value: float = Field(ge=0, le=1)
    """V of equation 3."""
    time_ratio: float | None
    passed: bool


class RoundAborted(Record):
    """The judge could not answer: nothing is backed up and the edge waits again."""

    kind: Literal["round_aborted"] = "round_aborted"
    edge: int
    reason: str


class BestConfirmed(Record):
    """The best candidate was measured again on fresh inputs."""

    kind: Literal["best_confirmed"] = "best_confirmed"
    node: int
    evaluation: Evaluation


class BestRefuted(Record):
    """What looked best did not pass when it was measured again: it is nobody's best."""

    kind: Literal["best_refuted"] = "best_refuted"
    node: int
    evaluation: Evaluation


class SearchEnded(Record):
    """No more rounds."""

    kind: Literal["search_ended"] = "search_ended"
    status: Literal["finished", "stopped"]
    reason: str


class SearchResumed(Record):
    """A new coordinator took over: open leases and rounds of the old one are void."""

    kind: Literal["search_resumed"] = "search_resumed"
    rounds: int = Field(ge=1)
    """The budget from now on."""


EventBody = Annotated[
    SearchStarted
    | LeaseOpened
    | ProposalsSubmitted
    | LeaseClosed
    | RoundStarted
    | RoundJudged
    | RoundAborted
    | BestConfirmed
    | BestRefuted
    | SearchEnded
    | SearchResumed,
    Field(discriminator="kind"),
]


class Event(StoredRecord):
    """One entry of the log."""

    search_id: ContentId
    sequence: int = Field(ge=1)
    """Numbered within the search without gaps."""
    at_s: float
    body: EventBody
