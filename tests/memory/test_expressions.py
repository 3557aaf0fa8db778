"""The expression grammar: closed, bounded, and clear about what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.memory.errors import ExpressionError
from kernelguild.memory.expressions import parse, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("rows * cols + 1", 13),
        ("cdiv(cols, 3) - -2", 4),
        ("next_power_of_2(rows) + next_power_of_2(cols) + next_power_of_2(0)", 9),
        ("max(rows, cols, 10) // 4 % 2", 0),
        ("(rows < cols) + (rows == 3) + (cols != 4)", 2),
    ],
)
def test_an_expression_has_the_value_that_a_reader_expects(text: str, value: int) -> None:
    assert parse(text).evaluate({"rows": 3, "cols": 4}) == value


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a ** b", "a.b", "a[0]", "f(a)", "__import__('os')", "1.5", "'a'", "a if b else c", "a < b < c",
     "cdiv(1)", "lambda: 1", "[1]", "min()", "True", "a and b", "9" * 40, "(" * 200 + "1" + ")" * 200],
)  # fmt: skip
def test_whatever_is_outside_the_grammar_is_refused_by_name(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("depth + 1", "unknown symbol 'depth' (known: cols, rows)"),
        ("rows // (cols - 4)", "division by zero"),
        ("rows * 4000000000 * 4000000000", "beyond 2**62"),
    ],
)
def test_an_expression_that_has_no_value_says_why(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text).evaluate({"rows": 3, "cols": 4})
    assert words in str(caught.value)


def test_a_cycle_of_symbols_is_walked_in_the_message() -> None:
    with pytest.raises(ExpressionError, match=r"cycle: (a -> b -> a|b -> a -> b)"):
        resolve({"a": "b + 1", "b": "a"}, {})


def test_derived_symbols_are_resolved_in_any_order() -> None:
    assert resolve({"area": "side * side", "side": "n + 1"}, {"n": 2}) == {"n": 2, "side": 3, "area": 9}


@given(st.text(max_size=40))
def test_no_text_does_anything_but_parse_or_raise(text: str) -> None:
    try:
        parse(text)
    except ExpressionError:
        return
