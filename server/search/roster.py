"""The table of agents, and how a user asks for them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from ...agents_cfg.settings import load_random_settings, load_tuner_settings
from ...memory.errors import InputError
from ...memory.schema import AgentSlots, Task
from .agent import Agent
from .template_agents import RandomAgent, TunerAgent, template_of

AGENTS: dict[str, Callable[[Task], Agent]] = {
    "tuner": lambda task: TunerAgent(load_tuner_settings(), template_of(task)),
    "random": lambda task: RandomAgent(load_random_settings(), template_of(task)),
}
MAX_SLOTS = 64


def parse_agents(text: str) -> tuple[AgentSlots, ...]:
    """`tuner:2,random` -> two sessions of tuner at a time and one of random.

    Raises:
        InputError: an unknown agent, one named twice, or a count outside 1..64.
    """
    slots: dict[str, AgentSlots] = {}
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        if name not in AGENTS:
            near = difflib.get_close_matches(name, AGENTS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"--agents {text}: no agent is called {name!r} ({hint}known: {', '.join(AGENTS)})")
        if name in slots:
            raise InputError(f"--agents {text}: {name} is named twice; write {name}:2 for two")
        if count and not (count.isascii() and count.isdigit() and 1 <= int(count) <= MAX_SLOTS):
            raise InputError(f"--agents {text}: {count!r} is no number of sessions from 1 to {MAX_SLOTS}")
        slots[name] = AgentSlots(agent=name, count=int(count or 1))
    return tuple(slots.values())


def recruit(slots: Iterable[AgentSlots], task: Task) -> dict[str, Agent]:
    """The agents by name.

    Raises:
        InputError: one of them cannot work on this task.
    """
    return {each.agent: AGENTS[each.agent](task) for each in slots}
