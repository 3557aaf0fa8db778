"""The shared memory between judge and worker: tensors at fixed, 64-byte aligned places with guard zones between."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import torch

from ...memory.schema import DTYPE_BYTES

ALIGNMENT = 64
GUARD_BYTES = 4096
GUARD_BYTE = 0xA5
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


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
    """One anonymous shared mapping; closed, it is gone."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.descriptor = os.memfd_create("kernelguild", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size_bytes)
        # A worker that cuts the file short would kill the judge at its next access.
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, SEALS)
        self._memory = mmap.mmap(self.descriptor, size_bytes)
        self._bytes = torch.frombuffer(self._memory, dtype=torch.uint8)
        self._guards: list[tuple[str, torch.Tensor]] = []

    def place(self, plans: Sequence[TensorPlan]) -> list[Slot]:
        """Lay tensors out from the start and arm the guard zones; earlier slots are void."""
        self._guards = []
        offset = self._guard(0, "the first tensor")
        slots = []
        for plan in plans:
            flat = torch.frombuffer(self._memory, dtype=getattr(torch, plan.dtype), count=plan.elements, offset=offset)
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
        """Unmap once the last view is gone."""
        self._guards = []
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT
