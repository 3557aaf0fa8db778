"""The one writer of a search: an event is in the log before it is in the state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from ...memory.clock import Clock
from ...memory.event_log import EventLog
from ...memory.schema import Event, EventBody
from ...memory.search_state import SearchState

OnEvent = Callable[[Event, SearchState], Awaitable[None]]


class Journal:
    """The state of a running search and the door to its log."""

    def __init__(self, log: EventLog, state: SearchState, clock: Clock, on_event: OnEvent) -> None:
        self.state = state
        """Changed by `write` alone."""
        self._log = log
        self._clock = clock
        self._on_event = on_event
        # Sequence numbers are given out one at a time: append and apply belong together.
        self._writing = anyio.Lock()

    def now_s(self) -> float:
        """Unix seconds."""
        return self._clock.now_s()

    async def write(self, body: EventBody) -> None:
        """Append, then apply, then tell; a cancelled caller still leaves log and state alike.

        Raises:
            ConflictError: another coordinator writes this search.
            StoreError: the log cannot be written, or the event is impossible.
        """
        with anyio.CancelScope(shield=True):
            async with self._writing:
                sequence = self.state.sequence + 1
                event = await self._log.append(self.state.search.id, body, sequence=sequence, at_s=self.now_s())
                self.state.apply(event)
                await self._on_event(event, self.state)
