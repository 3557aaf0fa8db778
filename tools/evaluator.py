"""The one way to a verdict: tools, command line and search all ask here."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread

from ..memory.schema import Candidate, DeviceKind, Evaluation, Task, Tier, evaluation_key
from ..memory.store import Store
from .judge.device import Site, site_of
from .judge.executor import Executor, OnProgress, local_executor
from .judge.request import EvaluationRequest, Judged
from .judge.version import JUDGE_VERSION


class Evaluator:
    """Asks the store first, then the executor; whatever it returns is stored."""

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store = store
        self._executor = executor
        self._sites: dict[DeviceKind, Site] = {}

    async def site(self, kind: DeviceKind) -> Site:
        """What tasks of a kind are measured on here."""
        if kind not in self._sites:
            self._sites[kind] = await anyio.to_thread.run_sync(site_of, kind)
        return self._sites[kind]

    async def evaluate(
        self,
        task: Task,
        candidate: Candidate,
        tier: Tier,
        *,
        fresh: bool = False,
        progress: OnProgress | None = None,
    ) -> Evaluation:
        """Judge a candidate; the same question is answered from the store unless `fresh`.

        Raises:
            ConfigError: the task's reference or baseline does not work.
            UnavailableError: this host cannot judge it.
            HarnessError: the judge broke; nothing is stored.
        """
        site = await self.site(task.device)
        key = evaluation_key(candidate.id, task.id, site.device, JUDGE_VERSION, tier)
        known = None if fresh else await self._store.evaluations.latest(key)
        if known is not None:
            return known
        request = EvaluationRequest(task=task, candidate=candidate, tier=tier)
        judged = await self._executor.run(request, progress)
        await self._keep(task, candidate, judged)
        return judged.evaluation

    async def _keep(self, task: Task, candidate: Candidate, judged: Judged) -> None:
        await self._store.tasks.put(task)
        await self._store.candidates.put(candidate)
        for content in judged.artifact_bytes():
            await anyio.to_thread.run_sync(self._store.blobs.put, content)
        await self._store.evaluations.put(judged.evaluation)


@asynccontextmanager
async def open_evaluator(store: Store) -> AsyncIterator[Evaluator]:
    """An evaluator on this machine's judge processes; none is started before the first question."""
    async with local_executor(os.environ) as executor:
        yield Evaluator(store, executor)
