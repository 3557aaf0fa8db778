"""Inputs with what is right for them, drawn while the compiler still works."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import torch

from .problem import Drawn, Parameters

AHEAD_BYTES = 64 << 20
"""Where more than this waits to be checked, the rest is drawn when its turn comes."""


@dataclass(frozen=True)
class Check:
    """One call to make and what must come of it."""

    position: int
    """Of its shape among the evaluation's."""
    case: str
    parameters: Parameters
    drawn: Drawn
    native: tuple[torch.Tensor, ...]
    """What torch itself makes of the inputs in the declared dtypes."""

    @property
    def size_bytes(self) -> int:
        tensors = (*self.drawn.inputs, *self.drawn.expected, *self.native)
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class Ahead:
    """The checks of one evaluation; inside the context a thread draws the first of them."""

    def __init__(self, checks: Iterator[Check], lease: ExitStack, *, draws: bool) -> None:
        """
        Args:
            lease: the right to compute; closed as soon as nothing more is drawn.
            draws: whether anything is; False where nobody may ask for the checks.
        """
        self._checks = checks
        self._lease = lease
        self._limit_bytes = AHEAD_BYTES if draws else 0
        self._waiting: deque[Check] = deque()
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __iter__(self) -> Iterator[Check]:
        """All checks; those that wait already come first.

        Raises:
            ConfigError: the task's reference failed.
        """
        self._stop()
        while self._waiting:
            yield self._waiting.popleft()
        if self._error is not None:
            raise self._error
        yield from self._checks

    def _stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _draw(self) -> None:
        size_bytes = 0
        with self._lease:
            try:
                while size_bytes < self._limit_bytes and not self._stopped.is_set():
                    self._waiting.append(next(self._checks))
                    size_bytes += self._waiting[-1].size_bytes
            except StopIteration:
                pass
            except Exception as error:  # noqa: BLE001  it is raised where the checks are asked for
                self._error = error
