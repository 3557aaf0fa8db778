"""Where the tensors of a task live: this host's memory or a GPU's."""

from __future__ import annotations

from typing import Protocol

from ...memory.schema import DeviceKind
from .arena import Arena
from .host_memory import HostMemory
from .peaks import CpuMeter, Meter


class Place(Protocol):
    """One device as the judge uses it."""

    @property
    def kind(self) -> DeviceKind: ...

    @property
    def sm_count(self) -> int:
        """Streaming multiprocessors; a host counts as one."""
        ...

    @property
    def arch(self) -> str:
        """Its architecture, such as `sm_90a`; empty for a host."""
        ...

    def arena(self, size_bytes: int) -> Arena:
        """Memory to share with one worker."""
        ...

    def meter(self, threads: int) -> Meter:
        """How its peaks are measured."""
        ...

    def conditions(self) -> str:
        """What may bear on times just now, such as clocks; empty where nothing can be said."""
        ...

    def settle(self) -> None:
        """Wait for everything that was issued here."""
        ...

    def chill(self) -> None:
        """Leave nothing of the inputs in the caches that candidates share with the judge."""
        ...


class Host:
    """The processor. Its caches stay as they are: the judge has just written the inputs, as any caller would have."""

    kind: DeviceKind = "cpu"
    sm_count = 1
    arch = ""

    def arena(self, size_bytes: int) -> Arena:
        return Arena(HostMemory(size_bytes))

    def meter(self, threads: int) -> Meter:
        return CpuMeter(threads)

    def conditions(self) -> str:
        return ""

    def settle(self) -> None:
        pass

    def chill(self) -> None:
        pass
