"""Python's own parser, one thread at a time."""

from __future__ import annotations

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parse_module(source: str, filename: str = "<unknown>") -> ast.Module:
    """As `ast.parse`.

    CPython counts the depth of a tree under construction for all threads together, and some versions raise SystemError
    where two threads build one at a time (python/cpython issue 106905).

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python, or too deep.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source, filename=filename)


def parse_expression(source: str) -> ast.expr:
    """As `parse_module`, for one expression."""
    with _ONE_AT_A_TIME:
        return ast.parse(source, mode="eval").body
