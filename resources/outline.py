"""One readable rendering of structured facts, so that a result's text can never say less than its data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .untrusted import fence

Fact = None | bool | int | float | str | Sequence["Fact"] | Mapping[str, "Fact"]


def outline(facts: Mapping[str, Fact]) -> str:
    """The facts as indented `key: value` lines; a string that holds a newline is fenced.

    Every leaf stands in the outline exactly as JSON writes it (strings without their quotes).
    """
    return "\n".join(_entries(facts))


def _entries(facts: Mapping[str, Fact]) -> list[str]:
    return [line for key, value in facts.items() for line in _entry(key, value)]


def _entry(key: str, value: Fact) -> list[str]:
    if isinstance(value, str) and "\n" in value:
        return [f"{key}:", *fence(value, "text").split("\n")]
    inline = _inline(value)
    if inline is not None:
        return [f"{key}: {inline}"]
    if isinstance(value, Mapping):
        return [f"{key}:", *_indented(_entries(value))]
    return [f"{key}:", *(line for item in _items(value) for line in _item(item))]


def _items(value: Fact) -> Sequence[Fact]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _item(value: Fact) -> list[str]:
    inline = _inline(value)
    if inline is not None:
        return [f"- {inline}"]
    lines = _entries(value) if isinstance(value, Mapping) else _entry("items", value)
    return [f"- {lines[0]}", *_indented(lines[1:])]


def _inline(value: Fact) -> str | None:
    """The value on one line; None where it needs several."""
    if isinstance(value, str):
        return None if "\n" in value else value
    if isinstance(value, Mapping):
        parts = {key: None if _is_compound(part) else _inline(part) for key, part in value.items()}
        return None if None in parts.values() else ", ".join(f"{key} {part}" for key, part in parts.items())
    if isinstance(value, Sequence):
        return json.dumps(value) if all(isinstance(part, int | float) for part in value) else None
    return json.dumps(value)


def _is_compound(value: Fact) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
