"""Time as a collaborator: records carry Unix seconds, and tests hand in a clock of their own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where records get their time from."""

    def now_s(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()
