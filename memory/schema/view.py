"""What the report and the live page draw: one record, ready to show, no look-ups left."""

from __future__ import annotations

from pydantic import Field

from .base import Record, StoredRecord
from .evaluation import Status, Verdict


class NodeView(Record):
    """One judged node."""

    id: int
    parent: int | None
    depth: int
    candidate_id: str
    status: Status
    verdict: Verdict
    message: str
    value: float
    """V of equation 3."""
    visit_count: int
    mean_value: float
    """Q of the edge that leads here."""
    shaped_prior: float | None
    """P~ of the edge that leads here at this moment (equation 6); None for the root."""
    candidate_ms: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    agent: str
    direction: str | None
    strategy: str | None
    rationale: str
    round: int | None
    """The round that judged it; None for the root."""
    diff: str
    """Unified diff against the parent's source."""


class PendingView(Record):
    """An edge that waits for the judge."""

    edge: int
    parent: int
    prior: float
    in_flight: bool
    strategy: str | None


class BestView(Record):
    """The best candidate."""

    node: int
    candidate_id: str
    path: tuple[int, ...]
    """Nodes from the root: the best action sequence."""
    source: str
    speedup: float
    speedup_low: float
    speedup_high: float
    candidate_ms: float
    baseline_ms: float
    """From the same measurement as `candidate_ms`."""
    confirmed: bool
    """Whether the figures come from a second measurement on fresh inputs."""


class SearchView(StoredRecord):
    """A search at one moment."""

    search_id: str
    task_name: str
    status: str
    agents: tuple[str, ...]
    rounds: int
    rounds_done: int
    baseline_ms: float | None
    nodes: tuple[NodeView, ...]
    pending: tuple[PendingView, ...]
    best: BestView | None
    device: str
    created_at_s: float
    updated_at_s: float
    duplicates: int = Field(ge=0)
    """Proposals that rendered a known program and cost nothing."""
