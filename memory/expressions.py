"""The one closed expression grammar: integers, symbols, `+ - * // %`, comparisons, `min`, `max`, `cdiv`,
`next_power_of_2`.

It serves shapes, FLOP counts, launch plans and every other place where a file computes a number from symbols.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from .errors import ExpressionError
from .python_syntax import parse_expression

MAX_EXPRESSION_CHARS = 300
MAX_MAGNITUDE = 2**62
SM_COUNT = "device.sm_count"
"""Streaming multiprocessors of the GPU: known to launch plans alone."""
ALLOWED = "integers, symbols, + - * // %, == != < <= > >=, min(), max(), cdiv(), next_power_of_2(), parentheses"


def cdiv(numerator: int, denominator: int) -> int:
    """Division rounded up."""
    return -(-numerator // denominator)


def next_power_of_2(value: int) -> int:
    """The least power of two that is not below the value; 1 for what is below 1."""
    return 1 << max(0, value - 1).bit_length()


_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, tuple[Callable[..., int], int, int]] = {
    "min": (min, 1, 16),
    "max": (max, 1, 16),
    "cdiv": (cdiv, 2, 2),
    "next_power_of_2": (next_power_of_2, 1, 1),
}


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `parse` is the way to one."""

    text: str
    symbols: frozenset[str]
    _tree: ast.expr

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value; a comparison gives 0 or 1.

        Raises:
            ExpressionError: a symbol has no value, a division by zero, or a result beyond 2**62.
        """
        missing = sorted(self.symbols - values.keys())
        if missing:
            known = ", ".join(sorted(values)) or "none"
            raise ExpressionError(f"{self.text!r}: unknown symbol {missing[0]!r} (known: {known})")
        try:
            return _evaluate(self._tree, values)
        except ZeroDivisionError:
            raise ExpressionError(f"{self.text!r}: division by zero with {dict(values)}") from None
        except OverflowError:
            raise ExpressionError(f"{self.text!r}: the result is beyond 2**62 with {dict(values)}") from None


def parse(text: str | int) -> Expression:
    """Parse an expression (an integer is one too).

    Raises:
        ExpressionError: it is too long, does not parse, or uses anything outside the grammar.
    """
    source = str(text).strip()
    if len(source) > MAX_EXPRESSION_CHARS:
        raise ExpressionError(f"an expression may have {MAX_EXPRESSION_CHARS} characters, this one has {len(source)}")
    try:
        tree = parse_expression(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"{source!r} is not an expression (allowed: {ALLOWED})") from None
    symbols: set[str] = set()
    _check(tree, source, symbols)
    return Expression(source, frozenset(symbols), tree)


def resolve(definitions: Mapping[str, str], values: Mapping[str, int]) -> dict[str, int]:
    """Values for all derived symbols, from their definitions and the free symbols' values.

    Raises:
        ExpressionError: a cycle (the message walks it), an unknown symbol, or a definition that does not parse.
    """
    parsed = {name: parse(text) for name, text in definitions.items()}
    sorter = TopologicalSorter({name: expression.symbols & parsed.keys() for name, expression in parsed.items()})
    try:
        order = list(sorter.static_order())
    except CycleError as error:
        raise ExpressionError(f"symbols define each other in a cycle: {' -> '.join(error.args[1])}") from None
    resolved = dict(values)
    for name in order:
        resolved[name] = parsed[name].evaluate(resolved)
    return resolved


def _check(node: ast.expr, source: str, symbols: set[str]) -> None:
    """Refuse everything outside the grammar and collect the symbols."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and abs(value) <= MAX_MAGNITUDE:
            return
        case ast.Name(id=name):
            symbols.add(name)
        case ast.Attribute(value=ast.Name(id="device"), attr="sm_count"):
            symbols.add(SM_COUNT)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, source, symbols)
            _check(right, source, symbols)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, source, symbols)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            _check(left, source, symbols)
            _check(right, source, symbols)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            _, least, most = _FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                raise ExpressionError(f"{source!r}: {name}() takes {least} to {most} values, not {len(arguments)}")
            for argument in arguments:
                _check(argument, source, symbols)
        case _:
            piece = ast.get_source_segment(source, node) or source
            raise ExpressionError(f"{source!r}: {piece!r} is not allowed (allowed: {ALLOWED})")


def _evaluate(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value):
            result = value
        case ast.Name(id=name):
            result = values[name]
        case ast.Attribute():
            result = values[SM_COUNT]
        case ast.BinOp(left=left, op=op, right=right):
            result = _BINARY[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.UnaryOp(operand=operand):
            result = -_evaluate(operand, values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            result = int(_COMPARE[type(op)](_evaluate(left, values), _evaluate(right, values)))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            result = _FUNCTIONS[name][0](*(_evaluate(argument, values) for argument in arguments))
        case _:
            raise AssertionError(f"unchecked node {type(node).__name__}")
    if abs(result) > MAX_MAGNITUDE:
        raise OverflowError
    return result
