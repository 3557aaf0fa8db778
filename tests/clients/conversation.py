"""What a model sees of its conversation with a client, whatever API carried it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

SERVER = "kernelguild"
"""The name under which every client configures the server."""
TOOL_PREFIX = f"mcp__{SERVER}__"
"""What both clients put before the names of the server's tools."""


@dataclass(frozen=True)
class Call:
    """A tool that the model calls, by the name that the MCP server (or the client, for its own tools) gives it."""

    tool: str
    arguments: Mapping[str, str | int]


@dataclass(frozen=True)
class Exchange:
    """A call that the model made, and the text that the client showed as its result."""

    call: Call
    shown: str


@dataclass(frozen=True)
class Conversation:
    """One request to the model: stateless, like the real APIs, so nothing is known that was not shown."""

    prompt: str
    exchanges: tuple[Exchange, ...]
    tools: Mapping[str, str]
    """The tools that the model was shown: name -> the same as the API spells it."""


Mind = Callable[[Conversation], Call | str]
"""Decides on the next call, or ends the turn with a message."""


def stuck(why: str) -> str:
    """The message of a model that was not shown what it needs."""
    return f"I am stuck: {why}."
