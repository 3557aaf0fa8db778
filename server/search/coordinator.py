"""The coordinator: decides where the next round goes, hands out leases, has proposals judged. Agents decide how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import anyio

from ...agents_cfg.settings import SearchSettings
from ...memory.errors import HarnessError, KernelguildError
from ...memory.schema import (
    Edge,
    Evaluation,
    LeaseClosed,
    LeaseOpened,
    MeasuredTiming,
    Proposal,
    ProposalsSubmitted,
    RoundAborted,
    RoundJudged,
    RoundStarted,
    SearchEnded,
    Session,
    Tier,
    Verdict,
)
from ...memory.store import Store
from ...tools.evaluator import Evaluator
from .agent import Agent, LeaseContext
from .journal import Journal
from .puct import value_of
from .selection import Expand, Judge, select

SUBMITTED = "submitted"


class Coordinator:
    """Runs one search until its budget is spent, nothing is left to propose, or a breaker opens."""

    def __init__(
        self,
        journal: Journal,
        agents: Mapping[str, Agent],
        *,
        settings: SearchSettings,
        store: Store,
        evaluator: Evaluator,
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._settings = settings
        self._store = store
        self._evaluator = evaluator
        # Selecting and writing down what was selected belong together.
        self._deciding = anyio.Lock()
        self._active = 0
        """Rounds under way in this process: leases, and edges at the judge."""
        self._changed = anyio.Event()
        """Set where a waiting slot may find something to do or nothing to wait for, then replaced."""
        self._empty = _empty_submissions(journal)
        """Node -> submissions in a row without a new program."""
        self._agent_failures = 0
        self._judge_failures = 0
        self._end: SearchEnded | None = None
        self._fatal: KernelguildError | None = None

    async def run(self) -> SearchEnded:
        """Work in as many slots as the search has agents; the returned event is in the log.

        Raises:
            ConfigError: the task's reference or baseline does not work.
            UnavailableError, HarnessError: nothing can be judged here.
        """
        async with anyio.create_task_group() as group:
            for slots in self._journal.state.search.agents:
                for _ in range(slots.count):
                    group.start_soon(self._work, slots.agent)
        end = self._end or SearchEnded(status="finished", reason=self._why_finished())
        await self._journal.write(end)
        if self._fatal is not None:
            raise self._fatal
        return end

    async def _work(self, agent: str) -> None:
        """One slot: take what selection finds, until nothing more can come."""
        while self._end is None:
            changed = self._changed
            try:
                if await self._round(agent):
                    continue
            except KernelguildError as error:
                self._fatal = error
                self._end = SearchEnded(status="stopped", reason=str(error))
                self._tell()
                return
            if self._active == 0:
                return
            await changed.wait()

    def _tell(self) -> None:
        told, self._changed = self._changed, anyio.Event()
        told.set()

    async def _round(self, agent: str) -> bool:
        """Whether there was something to do for this slot."""
        async with self._deciding:
            found = self._select()
            if found is None:
                return False
            self._active += 1
            lease = await self._begin(found, agent)
        try:
            judge = found if isinstance(found, Judge) else await self._expand(found, agent, lease)
            if judge is not None:
                await self._judge(judge)
        finally:
            self._active -= 1
            self._tell()
        return True

    def _select(self) -> Expand | Judge | None:
        state = self._journal.state
        if state.rounds_done + self._active >= state.rounds:
            return None
        exhausted = {node for node, count in self._empty.items() if count >= self._settings.max_empty_submissions}
        return select(state, exhausted)

    async def _begin(self, found: Expand | Judge, agent: str) -> int:
        """Write down what was selected; returns the lease's number, 0 for a round without one."""
        if isinstance(found, Judge):
            await self._journal.write(RoundStarted(edge=found.edge.id, path=found.path))
            return 0
        lease = len(self._journal.state.leases) + 1
        expires_at_s = self._journal.now_s() + self._settings.lease_timeout_s
        await self._journal.write(
            LeaseOpened(lease=lease, node=found.node, path=found.path, agent=agent, expires_at_s=expires_at_s)
        )
        return lease

    async def _expand(self, found: Expand, agent: str, lease: int) -> Judge | None:
        """Let the agent work under its lease; the new edge of highest prior is this round's."""
        started_at_s = self._journal.now_s()
        proposals: list[Proposal] | None = None
        try:
            with anyio.move_on_after(self._settings.lease_timeout_s):
                proposals = await self._agents[agent].propose(self._context(found.node, lease))
        except Exception as error:  # noqa: BLE001  an agent may fail in any way; it costs this lease
            await self._close(lease, "failed", f"{type(error).__name__}: {error}")
            return None
        if proposals is None:
            await self._close(lease, "expired", f"no submission within {self._settings.lease_timeout_s:g} s")
            return None
        return await self._submit(found, agent, lease, proposals, started_at_s)

    async def _submit(
        self, found: Expand, agent: str, lease: int, proposals: list[Proposal], started_at_s: float
    ) -> Judge | None:
        for proposal in proposals:
            await self._store.candidates.put(proposal.candidate)
        async with self._deciding:
            state = self._journal.state
            # By content, and before anything is spent on them; the first of equals stays.
            distinct: dict[str, Proposal] = {}
            for proposal in proposals:
                distinct.setdefault(proposal.candidate.id, proposal)
            new = [proposal for key, proposal in distinct.items() if key not in state.candidate_ids]
            session = Session(
                lease=lease,
                agent=agent,
                outcome=SUBMITTED,
                proposals=len(new),
                started_at_s=started_at_s,
                ended_at_s=self._journal.now_s(),
            )
            await self._journal.write(
                ProposalsSubmitted(
                    lease=lease, proposals=tuple(new), duplicates=len(proposals) - len(new), session=session
                )
            )
            self._agent_failures = 0
            self._tell()
            if not new:
                self._empty[found.node] += 1
                return None
            self._empty[found.node] = 0
            first = len(state.edges) - len(new) + 1
            edge = max((state.edges[first + step] for step in range(len(new))), key=lambda edge: (edge.prior, -edge.id))
            path = (*found.path, edge.id)
            await self._journal.write(RoundStarted(edge=edge.id, path=path))
            return Judge(edge, path)

    async def _close(self, lease: int, status: Literal["failed", "expired"], reason: str) -> None:
        await self._journal.write(LeaseClosed(lease=lease, status=status, reason=reason[:500]))
        self._agent_failures += 1
        if self._agent_failures >= self._settings.max_agent_failures:
            self._end = SearchEnded(
                status="stopped", reason=f"{self._agent_failures} leases in a row without a submission; last: {reason}"
            )

    async def _judge(self, judge: Judge) -> None:
        candidate = await self._store.candidates.get(judge.edge.candidate_id)
        try:
            evaluation = await self._evaluator.evaluate(self._journal.state.task, candidate, Tier.PROFILE)
        except HarnessError as error:
            await self._abort(judge.edge, error)
            return
        self._judge_failures = 0
        ratio = believed_ratio(evaluation)
        await self._journal.write(
            RoundJudged(
                edge=judge.edge.id,
                path=judge.path,
                evaluation_id=evaluation.id,
                value=0.0 if ratio is None else value_of(ratio),
                time_ratio=ratio,
                passed=ratio is not None,
            )
        )

    async def _abort(self, edge: Edge, error: HarnessError) -> None:
        await self._journal.write(RoundAborted(edge=edge.id, reason=str(error)))
        self._judge_failures += 1
        if self._judge_failures >= self._settings.max_judge_failures:
            raise error

    def _context(self, node: int, lease: int) -> LeaseContext:
        state = self._journal.state
        return LeaseContext(node=state.nodes[node], state=state, seed=(state.search.seed << 20) + lease)

    def _why_finished(self) -> str:
        state = self._journal.state
        if state.rounds_done >= state.rounds:
            return f"all {state.rounds} rounds are done"
        return "no agent has a new program to propose"


def believed_ratio(evaluation: Evaluation) -> float | None:
    """time(candidate) / time(baseline) of a candidate that passed and is not suspect, else None."""
    if isinstance(evaluation.timing, MeasuredTiming) and evaluation.verdict is not Verdict.SUSPECT:
        return evaluation.timing.time_ratio
    return None


def _empty_submissions(journal: Journal) -> Counter[int]:
    empty: Counter[int] = Counter()
    for session in journal.state.sessions:
        node = journal.state.leases[session.lease].node
        empty[node] = 0 if session.proposals else empty[node] + 1
    return empty
