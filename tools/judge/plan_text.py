"""The launch plan in a candidate's leading comment: found, read and checked; hostile like the rest of the file."""

from __future__ import annotations

import ast
import re

from ...memory.errors import ConfigError
from ...memory.python_syntax import parse_module
from ...memory.schema import Language, LaunchPlan, Record
from ...memory.yaml_file import load_yaml_text
from .languages import FILE_NAMES

KEY = "kernelguild:"
_BLOCK_COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.DOTALL)
_LINE_COMMENT = {"//": re.compile(r"(?:[ \t]*//[^\n]*\n|[ \t]*\n)+"), "#": re.compile(r"(?:[ \t]*#[^\n]*\n|[ \t]*\n)+")}


class PlanFile(Record):
    """The YAML document of the comment."""

    kernelguild: LaunchPlan


def has_plan(source: str) -> bool:
    """Whether a Python file is a device-only candidate: its leading comment or docstring holds a launch plan."""
    return _yaml_of_python(source) is not None


def read_plan(source: str, language: Language) -> LaunchPlan:
    """The plan of a cuda or triton candidate; lines in messages are those of the file.

    Raises:
        ConfigError: there is none, it is no YAML, or does not fit.
    """
    name = FILE_NAMES[language]
    text = _yaml_of_python(source) if language is Language.TRITON else _yaml_of_c(source)
    if text is None:
        comment = "# lines or a docstring" if language is Language.TRITON else "/* ... */ or // lines"
        raise ConfigError(
            f"{name}:1: error: no launch plan: the file starts with a comment ({comment}) that begins with "
            f"'{KEY}' and lists steps, each with kernel, grid and block as YAML"
        )
    return load_yaml_text(text, name, PlanFile).kernelguild


def _yaml_of_c(source: str) -> str | None:
    block = _BLOCK_COMMENT.match(source)
    if block is not None:
        return _from_key(source, block.start(1), block.end(1), " ")
    lines = _LINE_COMMENT["//"].match(source)
    return _from_key(source, 0, lines.end(), "//") if lines is not None else None


def _yaml_of_python(source: str) -> str | None:
    lines = _LINE_COMMENT["#"].match(source)
    found = _from_key(source, 0, lines.end(), "#") if lines is not None else None
    return found or _from_docstring(source)


def _from_docstring(source: str) -> str | None:
    if KEY not in source:
        return None
    try:
        body = parse_module(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    first = body[0] if body else None
    if not (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        return None
    text = first.value.value
    # The literal's own lines: escapes could shift them, so a plan's docstring is best kept free of backslashes.
    return _from_key("\n" * (first.lineno - 1) + text, first.lineno - 1, first.lineno - 1 + len(text), " ")


def _from_key(source: str, start: int, end: int, marker: str) -> str | None:
    """The document from the key on, with comment markers blanked, on the very lines of the source."""
    body = source[start:end]
    if marker != " ":
        body = re.sub(rf"(?m)^([ \t]*){re.escape(marker)}", lambda found: found.group(1) + " " * len(marker), body)
    position = body.find(KEY)
    if position < 0 or body[:position].strip(" \t\n*"):
        return None
    blank = "\n" * (source.count("\n", 0, start) + body.count("\n", 0, position))
    line_start = body.rfind("\n", 0, position) + 1
    document = " " * (position - line_start) + body[position:]
    return blank + document
