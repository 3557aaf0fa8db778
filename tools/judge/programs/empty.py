"""Does nothing: the judge's own measure of what a call costs by itself."""

from __future__ import annotations

from ..worker_spec import WorkerSpec
from .serving import Call, Layout


class EmptyProgram:
    """A worker that runs nobody's code."""

    def configure(self, layout: Layout) -> Call:
        del layout
        return lambda: None


def load(spec: WorkerSpec, shared: int) -> EmptyProgram:
    """Nothing to load."""
    del spec, shared
    return EmptyProgram()
