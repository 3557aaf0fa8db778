"""A started worker with its memory: what one side of a check or a measurement sits on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from .arena import Arena
from .device_code import DeviceCode, Launches
from .place import Place
from .problem import Shape, Signature
from .worker import Worker


@dataclass(frozen=True)
class Seat:
    """One worker, the memory that it shares with the judge, and where that lies; left, both are gone."""

    worker: Worker
    arena: Arena
    place: Place
    device_code: DeviceCode | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, then give the memory back."""
        self.worker.close()
        self.arena.close()

    def launches(self, signature: Signature, shape: Shape) -> Launches:
        """What the layout of one shape holds beside the tensors."""
        if self.device_code is None:
            return {}
        launches = self.device_code.launches(signature, shape.symbols, self.place.sm_count)
        return {**launches, "modules": self.device_code.encoded_modules, "arena_bytes": self.arena.size_bytes}
