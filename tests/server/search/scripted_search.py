"""Searches over the real store and the real evaluator, whose agents and executor say what a test wants."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from search_records import PAPER, SEARCH_ID, TASK, search_started

from kernelguild.agents_cfg.settings import SearchSettings, load_search_settings
from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import (
    AgentSlots,
    CompileReport,
    Evaluation,
    Event,
    EventBody,
    MeasuredTiming,
    Proposal,
    ShapeResult,
    Status,
    Tier,
    UnavailableTiming,
    Verdict,
)
from kernelguild.memory.search_state import SearchState
from kernelguild.memory.store import Store, open_store
from kernelguild.server.search.agent import LeaseContext
from kernelguild.server.search.coordinator import Coordinator
from kernelguild.server.search.journal import Journal
from kernelguild.tools.evaluator import Evaluator
from kernelguild.tools.judge.device import site_of
from kernelguild.tools.judge.executor import OnProgress
from kernelguild.tools.judge.request import EvaluationRequest, Judged
from kernelguild.tools.judge.version import JUDGE_VERSION

BOUND_S = 20.0
DEVICE = site_of("cpu").device

Answer = Callable[[str], Awaitable[float | None]]
"""Source -> time(candidate) / time(baseline), None for a program that does not compile."""


async def twice_as_fast(source: str) -> float:
    return 0.5


@dataclass
class ScriptedExecutor:
    """Judges by `answer`, at once."""

    answer: Answer = twice_as_fast
    asked: list[str] = field(default_factory=list)
    """The sources, in the order of the questions."""

    async def run(self, request: EvaluationRequest, progress: OnProgress | None = None) -> Judged:
        self.asked.append(request.candidate.source)
        return Judged(evaluation=_evaluation(request, await self.answer(request.candidate.source)), contents=())


@dataclass
class ScriptedAgent:
    """Brings the next of its submissions at each lease; raises those that are exceptions; none at the end."""

    submissions: Sequence[Sequence[Proposal] | Exception]
    leases: int = 0

    async def propose(self, context: LeaseContext) -> list[Proposal]:
        self.leases += 1
        if self.leases > len(self.submissions):
            return []
        submission = self.submissions[self.leases - 1]
        if isinstance(submission, Exception):
            raise submission
        return list(submission)


class Hanging:
    """An agent that never answers."""

    async def propose(self, context: LeaseContext) -> list[Proposal]:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class Bench:
    """A coordinator that is ready to run, and what it runs on."""

    coordinator: Coordinator
    journal: Journal
    store: Store

    async def logged(self) -> list[EventBody]:
        """What the log holds."""
        return [event.body for event in await self.store.events.read(SEARCH_ID)]


def settings(**changes: float) -> SearchSettings:
    """The packaged settings, and what a test changes."""
    return load_search_settings().model_copy(update={"puct": PAPER, **changes})


@asynccontextmanager
async def bench(
    home: Path,
    agents: Mapping[str, ScriptedAgent | Hanging],
    executor: ScriptedExecutor,
    *,
    slots: int = 1,
    rounds: int = 16,
    settings: SearchSettings = settings(),  # noqa: B008  a frozen record
) -> AsyncIterator[Bench]:
    """A search that has just started, or that goes on where its log holds events already.

    After every event the state is compared with the fold of the stored log.
    """
    async with open_store(home) as store:

        async def compare(event: Event, state: SearchState) -> None:
            assert SearchState.of(await store.events.read(SEARCH_ID)) == state

        if not await store.events.read(SEARCH_ID):
            started = search_started(
                TASK, agents=tuple(AgentSlots(agent=name, count=slots) for name in agents), rounds=rounds
            )
            await store.events.append(SEARCH_ID, started, sequence=1, at_s=1.0)
        state = SearchState.of(await store.events.read(SEARCH_ID))
        journal = Journal(store.events, state, SystemClock(), compare)
        evaluator = Evaluator(store, executor)
        yield Bench(Coordinator(journal, agents, settings=settings, store=store, evaluator=evaluator), journal, store)


def _evaluation(request: EvaluationRequest, ratio: float | None) -> Evaluation:
    measured = ratio is not None
    return Evaluation(
        id=secrets.token_hex(16),
        candidate_id=request.candidate.id,
        task_id=request.task.id,
        task_name=request.task.name,
        device=DEVICE,
        judge_version=JUDGE_VERSION,
        tier=Tier.PROFILE,
        status=Status.PASSED if measured else Status.COMPILE_ERROR,
        message="every output is right" if measured else "it does not compile",
        compile=CompileReport(ok=measured, command="g++", diagnostics="", duration_s=0.1),
        shapes=(ShapeResult(symbols={}, hidden=False, cases=1),) if measured else (),
        timing=UnavailableTiming(reason="it does not compile") if ratio is None else _timing(ratio),
        verdict=_verdict(ratio),
        created_at_s=1.0,
        duration_s=0.1,
    )


def _timing(ratio: float) -> MeasuredTiming:
    return MeasuredTiming(
        candidate_ms=ratio, baseline_ms=1.0, time_ratio=ratio, ratio_low=ratio * 0.99, ratio_high=ratio * 1.01
    )


def _verdict(ratio: float | None) -> Verdict:
    if ratio is None:
        return Verdict.NONE
    # As the judge does: nobody is a thousand times as fast.
    return Verdict.SUSPECT if ratio < 1e-3 else Verdict.FASTER
