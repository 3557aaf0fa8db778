"""A search from start (or resume) to a best candidate that was measured again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio

from ...agents_cfg.settings import load_search_settings
from ...memory.clock import Clock
from ...memory.errors import ConfigError, ConflictError, NotFoundError
from ...memory.schema import (
    AgentSlots,
    BestConfirmed,
    BestRefuted,
    Evaluation,
    Search,
    SearchEnded,
    SearchResumed,
    SearchStarted,
    SearchStatus,
    Status,
    Task,
    Tier,
)
from ...memory.search_state import SearchState
from ...memory.store import Store
from ...tools.evaluator import Evaluator
from .agent import Agent
from .coordinator import Coordinator, believed_ratio
from .journal import Journal, OnEvent
from .ownership import owned
from .roster import recruit
from .view import fastest_first


@dataclass(frozen=True)
class SearchRun:
    """What a search works with."""

    store: Store
    evaluator: Evaluator
    clock: Clock
    on_event: OnEvent

    async def start(self, task: Task, agents: Sequence[AgentSlots], rounds: int, seed: int) -> SearchState:
        """Judge the seed, then search; returns the last state.

        Raises:
            InputError: an agent cannot work on this task.
            ConfigError: the task's seed does not pass, or its reference or baseline does not work.
            UnavailableError, HarnessError: nothing can be judged here.
        """
        team = recruit(agents, task)
        root = await self.evaluator.evaluate(task, task.seed, Tier.PROFILE)
        if root.status is not Status.PASSED:
            raise ConfigError(f"task {task.name}: its seed does not pass ({root.status.value}): {root.message}")
        search = Search(
            id=secrets.token_hex(16),
            task_id=task.id,
            task_name=task.name,
            puct=load_search_settings().puct,
            agents=tuple(agents),
            rounds=rounds,
            seed=seed,
            created_at_s=self.clock.now_s(),
        )
        started = SearchStarted(search=search, task=task, root_candidate_id=task.seed.id, root_evaluation_id=root.id)
        with ExitStack() as stack:
            stack.enter_context(owned(search_folder(self.store.home, search.id)))
            event = await self.store.events.append(search.id, started, sequence=1, at_s=search.created_at_s)
            state = SearchState.of([event])
            await self.on_event(event, state)
            return await self._search(self._journal(state), team)

    async def resume(self, search_id: str, rounds: int | None) -> SearchState:
        """Go on with a stored search, with a new budget where `rounds` is given.

        Raises:
            NotFoundError: there is no such search.
            ConflictError: it is running, or its budget is spent and its best confirmed.
        """
        with ExitStack() as stack:
            if search_id not in await self.store.events.search_ids():
                raise NotFoundError(
                    f"no search has the id {search_id!r}; `kernelguild search --resume latest` takes the last"
                )
            stack.enter_context(owned(search_folder(self.store.home, search_id)))
            # Read under the lock: until then its holder may write.
            state = SearchState.of(await self.store.events.read(search_id))
            team = recruit(state.search.agents, state.task)
            budget = rounds or state.rounds
            if state.rounds_done >= budget and state.confirmed is not None:
                done = state.rounds_done
                raise ConflictError(f"search {search_id} has done {done} rounds; give it more with --rounds {2 * done}")
            journal = self._journal(state)
            await journal.write(SearchResumed(rounds=budget))
            return await self._search(journal, team)

    async def _search(self, journal: Journal, team: Mapping[str, Agent]) -> SearchState:
        state = journal.state
        coordinator = Coordinator(
            journal,
            team,
            settings=load_search_settings(),
            store=self.store,
            evaluator=self.evaluator,
        )
        try:
            await coordinator.run()
            await self._confirm(journal)
        except anyio.get_cancelled_exc_class():
            if state.status is SearchStatus.RUNNING:
                await journal.write(SearchEnded(status="stopped", reason="interrupted"))
            raise
        return state

    async def _confirm(self, journal: Journal) -> None:
        """Measure the best again on fresh inputs: the best of many measurements is partly luck."""
        state = journal.state
        for node in fastest_first(state)[: load_search_settings().max_confirmations]:
            evaluation = await self._again(state.task, node.candidate_id)
            if believed_ratio(evaluation) is not None:
                await journal.write(BestConfirmed(node=node.id, evaluation=evaluation))
                return
            await journal.write(BestRefuted(node=node.id, evaluation=evaluation))

    async def _again(self, task: Task, candidate_id: str) -> Evaluation:
        candidate = await self.store.candidates.get(candidate_id)
        return await self.evaluator.evaluate(task, candidate, Tier.DEEP, fresh=True)

    def _journal(self, state: SearchState) -> Journal:
        return Journal(self.store.events, state, self.clock, self.on_event)


def search_folder(home: Path, search_id: str) -> Path:
    """The workspace of a search."""
    return home / "searches" / search_id
