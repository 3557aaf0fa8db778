"""The memory that judge and worker share: tensors at fixed, aligned places with guard zones between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import torch

from ...memory.schema import DTYPE_BYTES

ALIGNMENT = 256
"""What torch's own allocator gives on a GPU; more than the 64 bytes that C++ candidates are promised."""
GUARD_BYTES = 4096
GUARD_BYTE = 0xA5


class Memory(Protocol):
    """A block that a worker can map too."""

    @property
    def descriptor(self) -> int:
        """What a worker maps it by."""
        ...

    @property
    def data(self) -> torch.Tensor:
        """All its bytes, uint8."""
        ...

    def close(self) -> None:
        """Give it back; no view of it may be used again."""
        ...


@dataclass(frozen=True)
class TensorPlan:
    """A tensor that is to lie in the arena."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.elements * DTYPE_BYTES[self.dtype]


@dataclass(frozen=True)
class Slot:
    """A tensor in the arena, as the judge sees it."""

    plan: TensorPlan
    offset: int
    tensor: torch.Tensor
    """A view of the shared memory."""

    def describe(self) -> dict[str, object]:
        return {"name": self.plan.name, "dtype": self.plan.dtype, "shape": self.plan.shape, "offset": self.offset}


def required_bytes(plans: Sequence[TensorPlan]) -> int:
    """The size of an arena for these tensors, guard zones included."""
    size = GUARD_BYTES
    for plan in plans:
        size += _aligned(plan.size_bytes) + GUARD_BYTES
    return size


class Arena:
    """One block of shared memory; closed, it is gone."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._bytes = memory.data
        self.size_bytes = self._bytes.numel()
        self.descriptor = memory.descriptor
        self._guards: list[tuple[str, torch.Tensor]] = []

    def place(self, plans: Sequence[TensorPlan]) -> list[Slot]:
        """Lay tensors out from the start and arm the guard zones; earlier slots are void."""
        self._guards = []
        offset = self._guard(0, "the first tensor")
        slots = []
        for plan in plans:
            flat = self._bytes[offset : offset + plan.size_bytes].view(getattr(torch, plan.dtype))
            slots.append(Slot(plan, offset, flat.view(plan.shape)))
            # The bytes between the tensor's end and the next guard belong to the guard.
            offset = self._guard(offset + plan.size_bytes, plan.name)
        return slots

    def overrun(self) -> str | None:
        """The tensor past whose end (or before whose start) something was written, or None."""
        for name, guard in self._guards:
            if not bool((guard == GUARD_BYTE).all()):
                return name
        return None

    def _guard(self, start: int, name: str) -> int:
        end = _aligned(start) + GUARD_BYTES
        guard = self._bytes[start:end]
        guard.fill_(GUARD_BYTE)
        self._guards.append((name, guard))
        return end

    def close(self) -> None:
        """Give the memory back."""
        self._guards = []
        del self._bytes
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT
