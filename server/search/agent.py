"""What an agent is to the coordinator: it gets a lease's context and brings proposals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...memory.schema import Node, Proposal
from ...memory.search_state import SearchState


@dataclass(frozen=True)
class LeaseContext:
    """What an agent may read under its lease."""

    node: Node
    """The node to expand."""
    state: SearchState
    """The whole tree with every outcome; read only."""
    seed: int
    """For the agent's random generator: the search's seed and the lease's number, mixed."""


class Agent(Protocol):
    """One kind of agent; several sessions of it may run at once."""

    async def propose(self, context: LeaseContext) -> list[Proposal]:
        """Changes of the node's candidate, each a whole program; none where it has nothing new.

        Whatever it raises costs this one lease.
        """
        ...
