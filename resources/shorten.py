"""A result that fits: shortened in steps, each saying so, with a link to the whole."""

from __future__ import annotations

import json
from collections.abc import Callable

from .outline import outline
from .result import EvaluationResult, Link, Untrusted

MIN_CHARS = 2_000
"""No result is cut below this: ids, verdict, cure and links fit in it."""
CORE_CHARS = 250
"""What stays of a long message in the shortest form; JSON may double it."""
MIN_BLOCK_CHARS = 80
CUT = "[cut: the whole is in artifacts]\n"


def shorten(result: EvaluationResult, max_chars: int, keep: Callable[[bytes], Link]) -> EvaluationResult:
    """The result with both its renderings within `max_chars` characters (at least MIN_CHARS).

    `keep` stores the whole result and says where; it is called only when something is left out.
    """
    if _excess(result, max_chars) <= 0:
        return result
    whole = keep(json.dumps(result.facts(), ensure_ascii=False, indent=1).encode("utf-8"))
    result = result.model_copy(update={"truncated": True, "artifacts": (*result.artifacts, whole)})
    for step in (_cut_output, _cut_diagnostics, _drop_shapes, _drop_findings, _keep_the_core):
        while (excess := _excess(result, max_chars)) > 0:
            shorter = step(result, excess)
            if shorter == result:
                break
            result = shorter
    return result


def _excess(result: EvaluationResult, max_chars: int) -> int:
    facts = result.facts()
    return max(len(json.dumps(facts, ensure_ascii=False)), len(outline(facts))) - max(max_chars, MIN_CHARS)


def _cut_output(result: EvaluationResult, excess: int) -> EvaluationResult:
    return result.model_copy(update={"output_tail": _cut(result.output_tail, excess, keep_the_end=True)})


def _cut_diagnostics(result: EvaluationResult, excess: int) -> EvaluationResult:
    return result.model_copy(update={"diagnostics": _cut(result.diagnostics, excess, keep_the_end=False)})


def _cut(block: Untrusted | None, excess: int, *, keep_the_end: bool) -> Untrusted | None:
    """The block without about `excess` characters, at a line end; None where nothing useful would be left."""
    if block is None:
        return None
    text = block.text
    # A rendering is longer than the text: JSON escapes characters, the outline indents lines.
    rendered = max(len(json.dumps(text, ensure_ascii=False)), len(text) + 2 * text.count("\n"))
    room = len(text) * (rendered - excess) // rendered - len(CUT)
    if room < MIN_BLOCK_CHARS:
        return None
    if keep_the_end:
        part = text[-room:]
        return block.model_copy(update={"text": CUT + part[part.find("\n") + 1 :]})
    part = text[:room]
    end = part.rfind("\n") + 1
    return block.model_copy(update={"text": (part[:end] if end else f"{part}\n") + CUT})


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
            "message": result.message[:CORE_CHARS],
            "timing_unavailable": None if timing is None else timing[:CORE_CHARS],
            "isolation": None,
            "kernels": (),
            "profile": {},
            "artifacts": result.artifacts[-1:],
        }
    )
