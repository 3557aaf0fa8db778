"""The state of a search: the fold of its events, and nothing else.

Equations 4 and 5 of TrAgent happen here, when a `round_judged` event is applied, along the event's path and in the
order of the log. Equation 5 depends on that order, N and W do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .edge_statistics import back_up, submission_weights
from .errors import StoreError
from .schema import (
    BestConfirmed,
    BestRefuted,
    Edge,
    Event,
    Lease,
    LeaseClosed,
    LeaseOpened,
    LeaseStatus,
    Node,
    Proposal,
    ProposalsSubmitted,
    RoundAborted,
    RoundJudged,
    RoundStarted,
    Search,
    SearchEnded,
    SearchResumed,
    SearchStarted,
    SearchStatus,
    Session,
    Task,
)

ROOT = 0


@dataclass
class SearchState:
    """One search at one moment; `of` is the way to one. Readers must not change the fields, only `apply` does."""

    search: Search
    task: Task
    rounds: int
    """The budget."""
    nodes: dict[int, Node]
    """By id, in the order of judgement: node n is the outcome of round n, node 0 the root."""
    sequence: int
    """Of the last event applied."""
    updated_at_s: float
    status: SearchStatus = SearchStatus.RUNNING
    rounds_done: int = 0
    """Rounds that were judged."""
    duplicates: int = 0
    """Proposals that were dropped because their program was known."""
    edges: dict[int, Edge] = field(default_factory=dict)
    """By id, in the order of submission."""
    leases: dict[int, Lease] = field(default_factory=dict)
    """By id, open and closed."""
    sessions: list[Session] = field(default_factory=list)
    confirmed: BestConfirmed | None = None
    """The last second measurement of a best candidate."""
    candidate_ids: set[str] = field(default_factory=set)
    """Every program in the tree: a proposal of one of them is a duplicate."""
    _edges_of: dict[int, list[int]] = field(default_factory=dict)
    _weights: dict[int, float] = field(default_factory=dict)
    _in_flight: dict[int, int] = field(default_factory=dict)
    _started: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> SearchState:
        """The fold of a whole log.

        Raises:
            StoreError: the log is empty, does not begin with `search_started`, or holds an impossible event.
        """
        iterator = iter(events)
        first = next(iterator, None)
        if first is None:
            raise StoreError("a search without events has no state")
        state = cls._started_by(first)
        for event in iterator:
            state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Take one event further; what it costs grows with its path and with the edges of its node alone.

        Raises:
            StoreError: the event is of another search, out of sequence, or impossible; the state is as before.
        """
        try:
            self._check_order(event)
            self._dispatch(event)
        except _Impossible as error:
            raise StoreError(_describe(event, str(error))) from None
        self.sequence = event.sequence
        self.updated_at_s = event.at_s

    def edges_of(self, node: int) -> list[Edge]:
        """The edges that leave a node, in the order of submission."""
        return [self.edges[edge] for edge in self._edges_of.get(node, ())]

    def in_flight(self, edge: int) -> int:
        """Open leases and running rounds whose path goes through this edge (the O of WU-UCT)."""
        return self._in_flight.get(edge, 0)

    @classmethod
    def _started_by(cls, event: Event) -> SearchState:
        body = event.body
        if not isinstance(body, SearchStarted) or event.sequence != 1 or body.search.id != event.search_id:
            raise StoreError(_describe(event, "a log begins with search_started of its own search, as event 1"))
        root = Node(
            id=ROOT,
            parent_edge=None,
            depth=0,
            candidate_id=body.root_candidate_id,
            evaluation_id=body.root_evaluation_id,
            value=0.0,
            expandable=True,
        )
        return cls(
            search=body.search,
            task=body.task,
            rounds=body.search.rounds,
            nodes={ROOT: root},
            sequence=1,
            updated_at_s=event.at_s,
            candidate_ids={root.candidate_id},
        )

    def _check_order(self, event: Event) -> None:
        _require(event.search_id == self.search.id, f"this is search {self.search.id}")
        _require(event.sequence == self.sequence + 1, f"the event after {self.sequence} was expected")

    def _dispatch(self, event: Event) -> None:
        match event.body:
            case LeaseOpened() as body:
                self._open_lease(body, event.at_s)
            case ProposalsSubmitted() as body:
                self._submit(body)
            case LeaseClosed() as body:
                self._close_lease(body)
            case RoundStarted() as body:
                self._start_round(body)
            case RoundJudged() as body:
                self._judge_round(body)
            case RoundAborted() as body:
                self._abort_round(body)
            case BestConfirmed() as body:
                self._confirm(body)
            case BestRefuted() as body:
                self._refute(body)
            case SearchEnded() as body:
                _require(self.status is SearchStatus.RUNNING, f"the search is {self.status.value} already")
                self.status = SearchStatus(body.status)
            case SearchResumed() as body:
                self._resume(body)
            case SearchStarted():
                raise _Impossible("the search has started already")

    def _open_lease(self, body: LeaseOpened, at_s: float) -> None:
        self._require_running()
        _require(body.lease not in self.leases, f"lease {body.lease} was opened before")
        _require(body.node in self.nodes, f"there is no node {body.node}")
        _require(self.nodes[body.node].expandable, f"node {body.node} did not pass, so no agent goes there")
        self._require_path(body.path, body.node)
        self.leases[body.lease] = Lease(
            id=body.lease,
            node=body.node,
            agent=body.agent,
            path=body.path,
            opened_at_s=at_s,
            expires_at_s=body.expires_at_s,
        )
        self._count_in_flight(body.path, +1)

    def _submit(self, body: ProposalsSubmitted) -> None:
        lease = self._open(body.lease)
        _require(body.session.lease == lease.id, f"the session belongs to lease {body.session.lease}")
        proposed = [proposal.candidate.id for proposal in body.proposals]
        _require(len(set(proposed)) == len(proposed), "a program is proposed twice")
        for candidate_id in proposed:
            _require(candidate_id not in self.candidate_ids, f"candidate {candidate_id} is in the tree already")
        self._end_lease(lease, LeaseStatus.SUBMITTED)
        self.sessions.append(body.session)
        self.duplicates += body.duplicates
        self._add_edges(lease, body.proposals, proposed)

    def _close_lease(self, body: LeaseClosed) -> None:
        lease = self._open(body.lease)
        if body.session is not None:
            _require(body.session.lease == lease.id, f"the session belongs to lease {body.session.lease}")
            self.sessions.append(body.session)
        self._end_lease(lease, LeaseStatus(body.status))

    def _start_round(self, body: RoundStarted) -> None:
        self._require_running()
        edge = self._unjudged(body.edge)
        _require(not edge.in_flight, f"edge {edge.id} is being judged already")
        _require(body.path[-1:] == (edge.id,), f"the path does not end with edge {edge.id}")
        self._require_path(body.path[:-1], edge.parent)
        self.edges[edge.id] = edge.model_copy(update={"in_flight": True})
        self._started[edge.id] = body.path
        self._count_in_flight(body.path, +1)

    def _judge_round(self, body: RoundJudged) -> None:
        edge = self._unjudged(body.edge)
        path = self._started.get(edge.id)
        _require(path is not None, f"no round of edge {edge.id} is running")
        _require(body.path == path, f"the round of edge {edge.id} was started along {path}")
        value = body.value if body.passed else 0.0
        child = Node(
            id=len(self.nodes),
            parent_edge=edge.id,
            depth=self.nodes[edge.parent].depth + 1,
            candidate_id=edge.candidate_id,
            evaluation_id=body.evaluation_id,
            value=value,
            time_ratio=body.time_ratio,
            expandable=body.passed,
        )
        self._end_round(edge.id)
        self.nodes[child.id] = child
        self.edges[edge.id] = self.edges[edge.id].model_copy(update={"child": child.id})
        self.rounds_done += 1
        # What was measured again was the best of fewer rounds.
        self.confirmed = None
        for step in body.path:
            self.edges[step] = back_up(self.edges[step], value, self.search.puct)

    def _abort_round(self, body: RoundAborted) -> None:
        _require(body.edge in self._started, f"no round of edge {body.edge} is running")
        self._end_round(body.edge)

    def _confirm(self, body: BestConfirmed) -> None:
        self._measured_again(body)
        self.confirmed = body

    def _refute(self, body: BestRefuted) -> None:
        node = self._measured_again(body)
        self.nodes[node.id] = node.model_copy(update={"time_ratio": None, "expandable": False})

    def _measured_again(self, body: BestConfirmed | BestRefuted) -> Node:
        _require(body.node in self.nodes, f"there is no node {body.node}")
        node = self.nodes[body.node]
        same = body.evaluation.candidate_id == node.candidate_id
        _require(same, f"node {body.node} holds candidate {node.candidate_id}")
        return node

    def _resume(self, body: SearchResumed) -> None:
        for lease in [lease for lease in self.leases.values() if lease.status is LeaseStatus.OPEN]:
            self._end_lease(lease, LeaseStatus.EXPIRED)
        for edge in list(self._started):
            self._end_round(edge)
        self.status = SearchStatus.RUNNING
        self.rounds = body.rounds

    def _open(self, lease_id: int) -> Lease:
        _require(lease_id in self.leases, f"there is no lease {lease_id}")
        lease = self.leases[lease_id]
        _require(lease.status is LeaseStatus.OPEN, f"lease {lease_id} is {lease.status.value} already")
        return lease

    def _unjudged(self, edge_id: int) -> Edge:
        _require(edge_id in self.edges, f"there is no edge {edge_id}")
        edge = self.edges[edge_id]
        _require(edge.child is None, f"edge {edge_id} was judged before: it leads to node {edge.child}")
        return edge

    def _require_running(self) -> None:
        _require(self.status is SearchStatus.RUNNING, f"the search is {self.status.value}; it must be resumed first")

    def _require_path(self, path: Sequence[int], node: int) -> None:
        at: int | None = ROOT
        for step in path:
            _require(step in self.edges, f"there is no edge {step}")
            _require(self.edges[step].parent == at, f"edge {step} of the path does not leave node {at}")
            at = self.edges[step].child
        _require(at == node, f"the path {tuple(path)} does not lead to node {node}")

    def _end_lease(self, lease: Lease, status: LeaseStatus) -> None:
        self.leases[lease.id] = lease.model_copy(update={"status": status})
        self._count_in_flight(lease.path, -1)

    def _end_round(self, edge_id: int) -> None:
        self.edges[edge_id] = self.edges[edge_id].model_copy(update={"in_flight": False})
        self._count_in_flight(self._started.pop(edge_id), -1)

    def _count_in_flight(self, path: Sequence[int], change: int) -> None:
        for edge in path:
            self._in_flight[edge] = self._in_flight.get(edge, 0) + change

    def _add_edges(self, lease: Lease, proposals: Sequence[Proposal], candidate_ids: Sequence[str]) -> None:
        edges = self._edges_of.setdefault(lease.node, [])
        weights = submission_weights([proposal.prior for proposal in proposals])
        for proposal, candidate_id, weight in zip(proposals, candidate_ids, weights, strict=True):
            edge = Edge(
                id=len(self.edges) + 1,
                parent=lease.node,
                candidate_id=candidate_id,
                prior=weight,
                rationale=proposal.rationale,
                direction=proposal.direction,
                strategy=proposal.strategy,
                parameters=proposal.parameters,
                agent=lease.agent,
            )
            self.edges[edge.id] = edge
            self._weights[edge.id] = weight
            edges.append(edge.id)
        self.candidate_ids.update(candidate_ids)
        self._normalise_priors(edges)

    def _normalise_priors(self, edges: Sequence[int]) -> None:
        """Make P a distribution over all edges of one node; each submission there has the same say.

        A prior is a weight relative to its own submission, so raw weights of two agents cannot be compared.
        """
        total = sum(self._weights[edge] for edge in edges)
        for edge in edges:
            self.edges[edge] = self.edges[edge].model_copy(update={"prior": self._weights[edge] / total})


class _Impossible(Exception):
    """Why an event cannot follow; `apply` adds which event."""


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _Impossible(otherwise)


def _describe(event: Event, why: str) -> str:
    return f"search {event.search_id}: event {event.sequence} ({event.body.kind}) is impossible: {why}"
