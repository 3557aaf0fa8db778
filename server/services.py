"""What the tools work with, opened by the first call that needs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ..memory.clock import Clock

if TYPE_CHECKING:
    from ..memory.store import Store
    from ..tools.evaluator import Evaluator


@dataclass(frozen=True)
class Services:
    """The store of one home and the judge that writes to it."""

    store: Store
    evaluator: Evaluator


Opener = Callable[[], AbstractAsyncContextManager[Services]]


@asynccontextmanager
async def open_services(home: Path, clock: Clock) -> AsyncIterator[Services]:
    """The real services of a home.

    Raises:
        StoreError: the home cannot be used.
    """
    # Deferred: the database driver and the judge are needed by the first call, not by the handshake.
    from ..memory.store import open_store
    from ..tools.evaluator import open_evaluator

    async with open_store(home) as store, open_evaluator(store) as evaluator:
        yield Services(store=store, evaluator=evaluator)


class LazyServices:
    """Opens the services once, in a task of their own: whoever asks first may be cancelled without closing them."""

    def __init__(self, opener: Opener, task_group: TaskGroup) -> None:
        self._opener = opener
        self._task_group = task_group
        self._lock = anyio.Lock()  # two first calls at once must not open twice
        self._closing = anyio.Event()
        self._services: Services | None = None

    async def get(self) -> Services:
        """The services; an error of the opener goes to the caller, and the next call tries again."""
        if self._services is None:
            async with self._lock:
                if self._services is None:
                    self._services = await self._task_group.start(self._hold)
        return self._services

    def close(self) -> None:
        """Let the task that holds the services end."""
        self._closing.set()

    async def _hold(self, *, task_status: TaskStatus[Services]) -> None:
        async with self._opener() as services:
            task_status.started(services)
            await self._closing.wait()
