"""PyTorch candidates: a Python file that must parse and define `ModelNew`."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable
from dataclasses import dataclass

from ....memory.python_syntax import parse_module
from ....memory.schema import CompileReport, Language, Status
from ..bench import Bench
from ..failure import clean
from ..languages import FILE_NAMES
from .built import MAX_LINE_CHARS, Built, Order


@dataclass(frozen=True)
class PytorchCompiler:
    """Checks the file's syntax; what it imports and builds is seen when it is loaded."""

    bench: Bench

    def key(self, order: Order) -> Iterable[str]:
        del order
        return ()

    def compile(self, order: Order) -> Built:
        name = FILE_NAMES[Language.PYTORCH]
        start = time.monotonic()
        diagnostics = syntax_problem(order.candidate.source, name, "ModelNew")
        report = CompileReport(
            ok=not diagnostics,
            command=f"python -m py_compile {name}",
            diagnostics=clean(diagnostics),
            duration_s=time.monotonic() - start,
        )
        if diagnostics:
            return Built(report, diagnostics.encode(), None, Status.COMPILE_ERROR, clean(diagnostics).splitlines()[0])
        target = self.bench.new_folder() / name
        target.write_text(order.candidate.source, encoding="utf-8")
        return Built(report, b"", target)


def syntax_problem(source: str, name: str, needed_class: str | None = None) -> str:
    """What keeps a Python file from being loaded, as a compiler would say it; empty where nothing does."""
    try:
        tree = parse_module(source, name)
    except SyntaxError as error:
        line = (error.text or "").rstrip()[:MAX_LINE_CHARS]
        return f"{name}:{error.lineno}:{error.offset}: error: {error.msg}\n    {line}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{name}:1: error: the file cannot be parsed: {error}"
    if needed_class is None or any(isinstance(node, ast.ClassDef) and node.name == needed_class for node in tree.body):
        return ""
    return f"{name}:1: error: the file defines no class {needed_class} at its top level"
