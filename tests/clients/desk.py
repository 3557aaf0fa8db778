"""Where one user works, and what stands in the database afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio

from kernelguild.memory.schema import Evaluation
from kernelguild.memory.store import open_store


@dataclass(frozen=True)
class Desk:
    """A folder to work in and a home of its own."""

    project: Path
    """The folder in which the client is started; it holds the problem."""
    home: Path
    draft: str
    """The example's kernel with a misspelt name."""

    def verdicts(self) -> list[Evaluation]:
        """What the server has stored, oldest first."""
        return anyio.run(self._verdicts)

    async def _verdicts(self) -> list[Evaluation]:
        async with open_store(self.home / ".kernelguild") as store:
            return sorted(await store.evaluations.recent(20), key=lambda evaluation: evaluation.created_at_s)
