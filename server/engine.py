"""What lives as long as the server does: the services, opened lazily, and the judgements in progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from ..memory.clock import Clock
from .runs import Runs
from .services import LazyServices, Opener, Services


class Engine:
    """Shared by all tools and resources of one server; alive within `lifespan`."""

    def __init__(self, opener: Opener, clock: Clock) -> None:
        self._opener = opener
        self._clock = clock
        self._services: LazyServices | None = None
        self._runs: Runs | None = None
        self.stopped = anyio.Event()
        """Set once every judgement has ended and the services are closed."""

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        """Judgements that are still in progress at the end are cancelled, then the services are closed.

        Raises:
            RuntimeError: the engine serves already.
        """
        if self._services is not None:
            raise RuntimeError("an engine serves one app at a time: make another engine")
        try:
            async with anyio.create_task_group() as holding:
                self._services = LazyServices(self._opener, holding)
                async with anyio.create_task_group() as working:
                    self._runs = Runs(self._services, working, self._clock)
                    yield
                    working.cancel_scope.cancel()
                self._services.close()
        finally:
            self._services = self._runs = None
            self.stopped.set()

    async def services(self) -> Services:
        """The store and the judge, opened by the first call.

        Raises:
            StoreError: the home cannot be used.
        """
        assert self._services is not None, "asked outside the server's lifespan"
        return await self._services.get()

    @property
    def runs(self) -> Runs:
        """The judgements of this process."""
        assert self._runs is not None, "asked outside the server's lifespan"
        return self._runs
