"""A result that fits: shortened in steps, each saying so, with a link to the whole."""

from __future__ import annotations

import json
from collections.abc import Callable

from .outline import outline
from .result import EvaluationResult, Link, Untrusted

MIN_CHARS = 2_000
"""No result is cut below this: ids, verdict, cure and links fit in it."""
_MESSAGE_CHARS = 500


def shorten(result: EvaluationResult, max_chars: int, keep: Callable[[bytes], Link]) -> EvaluationResult:
    """The result with both its renderings within `max_chars` characters (at least MIN_CHARS).

    `keep` stores the whole result and says where; it is called only when something is left out.
    """
    if _excess(result, max_chars) <= 0:
        return result
    whole = keep(json.dumps(result.facts(), ensure_ascii=False, indent=1).encode("utf-8"))
    result = result.model_copy(update={"truncated": True, "artifacts": (*result.artifacts, whole)})
    for step in (_cut_output, _cut_diagnostics, _drop_shapes, _drop_findings, _keep_the_core):
        excess = _excess(result, max_chars)
        if excess <= 0:
            break
        result = step(result, excess)
    return result


def _excess(result: EvaluationResult, max_chars: int) -> int:
    facts = result.facts()
    return max(len(json.dumps(facts)), len(outline(facts))) - max(max_chars, MIN_CHARS)


def _cut_output(result: EvaluationResult, excess: int) -> EvaluationResult:
    return result.model_copy(update={"output_tail": _cut(result.output_tail, excess, keep_the_end=True)})


def _cut_diagnostics(result: EvaluationResult, excess: int) -> EvaluationResult:
    return result.model_copy(update={"diagnostics": _cut(result.diagnostics, excess, keep_the_end=False)})


def _cut(block: Untrusted | None, excess: int, *, keep_the_end: bool) -> Untrusted | None:
    """The block without `excess` characters, at a line end; None where nothing useful would be left."""
    if block is None:
        return None
    note = f"[cut: {len(block.text)} characters in all, the whole is in artifacts]\n"
    room = len(block.text) - excess - len(note) - 8
    if room < 80:
        return None
    if keep_the_end:
        part = block.text[-room:]
        return block.model_copy(update={"text": note + part[part.find("\n") + 1 :]})
    part = block.text[:room]
    end = part.rfind("\n") + 1
    return block.model_copy(update={"text": (part[:end] if end else f"{part}\n") + note})


def _drop_shapes(result: EvaluationResult, excess: int) -> EvaluationResult:
    """As many shapes as fit, the ones with errors first."""
    shapes = sorted(result.shapes, key=lambda shape: not shape.errors)
    while shapes and excess > 0:
        excess -= len(shapes.pop().model_dump_json(exclude_defaults=True))
    return result.model_copy(update={"shapes": tuple(shapes)})


def _drop_findings(result: EvaluationResult, excess: int) -> EvaluationResult:
    findings = list(result.findings)
    while findings and excess > 0:
        excess -= len(findings.pop().model_dump_json())
    return result.model_copy(update={"findings": tuple(findings)})


def _keep_the_core(result: EvaluationResult, excess: int) -> EvaluationResult:
    timing = result.timing_unavailable
    return result.model_copy(
        update={
            "message": result.message[:_MESSAGE_CHARS],
            "timing_unavailable": None if timing is None else timing[:_MESSAGE_CHARS],
            "isolation": None,
            "artifacts": result.artifacts[-1:],
        }
    )
