"""The text of a result can never say less than its data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernelguild.resources.outline import outline

WORDS = st.text(alphabet="abc xyz.:-`", min_size=1).map(str.strip).filter(bool)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.lists(WORDS, min_size=1, max_size=3).map("\n".join)
FACTS: st.SearchStrategy[Any] = st.recursive(
    SCALARS | TEXTS,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(WORDS, parts, max_size=3),
    max_leaves=12,
)


def leaves(value: Any) -> Iterator[str]:
    """Every key and every scalar, texts line by line."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, str):
        yield from value.split("\n")
    else:
        yield json.dumps(value)


@given(st.dictionaries(WORDS, FACTS, max_size=4))
def test_every_fact_stands_in_the_outline(facts: dict[str, Any]) -> None:
    text = outline(facts)
    assert [leaf for leaf in leaves(facts) if leaf not in text] == []


def test_flat_records_take_one_line_and_texts_are_fenced() -> None:
    facts: dict[str, Any] = {
        "status": "passed",
        "speedup": {"value": 1.5, "low": 1.4, "high": 1.6},
        "shapes": [{"symbols": {"rows": 2}, "hidden": False}],
        "log": "one\ntwo\n",
        "index": [1, 2],
    }
    assert outline(facts) == (
        "status: passed\n"
        "speedup: value 1.5, low 1.4, high 1.6\n"
        "shapes:\n"
        "- symbols: rows 2\n"
        "  hidden: false\n"
        "log:\n"
        "```text\none\ntwo\n```\n"
        "index: [1, 2]"
    )
