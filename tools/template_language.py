"""The part of Jinja2 that templates may use: branches, loops over `range`, integers. It always ends, soon and small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import jinja2
from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment

from ..memory.errors import InputError
from ..memory.schema import MAX_SOURCE_CHARS

MAX_LOOP_STEPS = 100_000
MAX_MAGNITUDE = 2**62
ALLOWED_NODES: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.Name, nodes.Const,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.CondExpr,
    nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.Mod, nodes.Tuple, nodes.List,
)  # fmt: skip
ALLOWED = "if, for over range(), set, comparisons, and/or/not, in, + - * // % on integers, parameters and constants"


class _Environment(SandboxedEnvironment):
    """Arithmetic is on bounded integers, so neither a number nor a text can grow without limit."""

    intercepted_binops = frozenset({"+", "-", "*", "//", "%"})

    def call_binop(self, context: object, operator: str, left: object, right: object) -> int:
        if not isinstance(left, int) or not isinstance(right, int):
            raise _Refused(f"{left!r} {operator} {right!r}: arithmetic is for integers")
        result: int = self.binop_table[operator](left, right)
        if abs(result) > MAX_MAGNITUDE:
            raise _Refused(f"{left} {operator} {right} is beyond 2**62")
        return result


@lru_cache(maxsize=16)
def _compile(source: str, name: str) -> jinja2.Template:
    environment = _Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.globals.clear()
    try:
        _check(environment.parse(source, name), name)
        return environment.from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"{name}:{error.lineno}: {error.message}") from None
    except (RecursionError, SyntaxError):
        raise InputError(f"{name}: nested too deeply") from None


def render_source(source: str, name: str, values: Mapping[str, int | str]) -> str:
    """The text that the template gives for these values; `name` stands in messages.

    Raises:
        InputError: the template is outside the allowed language, names an unknown parameter, loops for more than
            100,000 steps or grows beyond a source's limit.
    """
    template = _compile(source, name)
    pieces: list[str] = []
    length = 0
    try:
        for piece in template.generate(**values, range=_Steps()):
            length += len(piece)
            if length > MAX_SOURCE_CHARS:
                raise _Refused(f"renders more than {MAX_SOURCE_CHARS} characters")
            pieces.append(piece)
    except jinja2.UndefinedError as error:
        raise InputError(f"{name}: {error.message} (parameters: {', '.join(sorted(values)) or 'none'})") from None
    except (_Refused, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{name}: {error} with {dict(values)}") from None
    return "".join(pieces)


class _Refused(Exception):
    """Why a rendering stopped; `render_source` adds where."""


class _Steps:
    """`range` with one budget of steps for the whole rendering: loops nest."""

    def __init__(self) -> None:
        self._left = MAX_LOOP_STEPS

    def __call__(self, *bounds: int) -> Iterator[int]:
        for step in range(*bounds):
            self._left -= 1
            if self._left < 0:
                raise _Refused(f"more than {MAX_LOOP_STEPS} loop steps")
            yield step


def _check(node: nodes.Node, name: str) -> None:
    """Refuse everything outside the language, with the line."""
    inner = list(node.iter_child_nodes())
    allowed = type(node) in ALLOWED_NODES and not (isinstance(node, nodes.Name) and node.name == "range")
    if isinstance(node, nodes.For):
        loop = node.iter
        allowed = isinstance(loop, nodes.Call) and isinstance(loop.node, nodes.Name) and loop.node.name == "range"
        allowed = allowed and not node.recursive and node.test is None
        if isinstance(loop, nodes.Call):
            allowed = allowed and not (loop.kwargs or loop.dyn_args or loop.dyn_kwargs)
            inner = [*loop.args, *(child for child in inner if child is not loop)]
    if not allowed:
        what = type(node).__name__.lower()
        raise InputError(f"{name}:{node.lineno}: {what} is not allowed in a template (allowed: {ALLOWED})")
    for child in inner:
        _check(child, name)
