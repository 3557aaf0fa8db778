"""Does nothing: the judge's own measure of what a call costs by itself."""

from __future__ import annotations

import ctypes

from ..worker_spec import WorkerSpec
from .cpp import native
from .serving import Answering, Call, Layout


class EmptyProgram:
    """A worker that runs nobody's code, with the loop of those it is compared with."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._loop = ctypes.CDLL(spec.loop).serve if spec.loop else None

    def configure(self, layout: Layout) -> Call | Answering:
        del layout
        return (lambda: None) if self._loop is None else native(self._loop, None, [])


def load(spec: WorkerSpec, shared: int) -> EmptyProgram:
    """Nothing to load but the loop."""
    del shared
    return EmptyProgram(spec)
