"""Launchers that wait with a GPU context: making one takes a third of a second, which no verdict shall wait for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ...memory.errors import HarnessError
from .worker import Worker, WorkerEnded, WorkerTimeout

LAUNCHER_TIMEOUT_S = 60
SPARE = 3
"""Candidate and baseline of a measurement, and the check before it."""


class Launchers:
    """Fresh launchers: each runs one program's device code and is never used again."""

    def __init__(self, start: Callable[[], Worker]) -> None:
        self._start = start
        self._waiting: deque[Worker] = deque()

    def take(self) -> Worker:
        """The oldest one, ready; as many as were taken are started anew.

        Raises:
            HarnessError: it got no GPU context.
        """
        self.fill()
        worker = self._waiting.popleft()
        self._waiting.append(self._start())
        try:
            worker.wait_ready(LAUNCHER_TIMEOUT_S)
        except (WorkerEnded, WorkerTimeout):
            reason = worker.output_tail().strip().splitlines()
            worker.close()
            raise HarnessError(f"a launcher got no GPU context: {reason[-1] if reason else 'no word'}") from None
        return worker

    def fill(self) -> None:
        """Start what is missing; nobody waits for it."""
        while len(self._waiting) < SPARE:
            self._waiting.append(self._start())

    def close(self) -> None:
        while self._waiting:
            self._waiting.popleft().close()
