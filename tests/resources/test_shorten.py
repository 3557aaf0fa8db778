"""A result of any size becomes one that fits, and the whole is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelguild.resources.outline import outline
from kernelguild.resources.result import EvaluationResult, FindingFact, Link, OutputFact, ShapeFact, Untrusted
from kernelguild.resources.shorten import MIN_CHARS, shorten

TEXTS = st.tuples(st.text(alphabet='ab"\\\n`\u00e9', max_size=40), st.integers(0, 400)).map(lambda p: p[0] * p[1])


def result(
    *, message: str = "m", diagnostics: str = "", tail: str = "", shapes: int = 0, findings: int = 0
) -> EvaluationResult:
    """A result with as much of everything as asked for."""
    error = OutputFact(output="y", max_abs_error=1.0, tolerance_ratio=2.0, mismatched=1, elements=2)
    return EvaluationResult(
        status="incorrect_values", verdict="none", message=message, tier="verify", task="t", task_uri="task://x",
        candidate_id="c" * 32, evaluation_id="e" * 32, device="d",
        diagnostics=Untrusted(untrusted="compiler", text=diagnostics + "\n") if diagnostics else None,
        output_tail=Untrusted(untrusted="candidate", text=tail + "\n") if tail else None,
        shapes=tuple(
            ShapeFact(symbols={"n": number}, hidden=False, cases=1, errors=(error,) if number == shapes - 1 else ())
            for number in range(shapes)
        ),
        findings=tuple(FindingFact(kind="k", evidence="e" * 50) for _ in range(findings)),
        next_steps=("Fix it, then call verify again.",), artifacts=(), truncated=False,
    )  # fmt: skip


def shortened(whole: EvaluationResult, max_chars: int) -> tuple[EvaluationResult, list[bytes]]:
    """The short form, and what was kept aside."""
    kept: list[bytes] = []

    def keep(data: bytes) -> Link:
        kept.append(data)
        return Link(name="result.json", uri="artifact://" + "0" * 64, size_bytes=len(data))

    return shorten(whole, max_chars, keep), kept


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, st.integers(0, 60), st.integers(0, 60), st.integers(MIN_CHARS, 20_000))
def test_both_renderings_fit_and_the_whole_is_kept_exactly_when_something_is_cut(
    message: str, diagnostics: str, tail: str, shapes: int, findings: int, max_chars: int
) -> None:
    whole = result(message=message, diagnostics=diagnostics, tail=tail, shapes=shapes, findings=findings)
    short, kept = shortened(whole, max_chars)
    assert len(json.dumps(short.facts(), ensure_ascii=False)) <= max_chars
    assert len(outline(short.facts())) <= max_chars
    assert short.truncated == bool(kept)
    assert (short == whole) == (not kept)
    assert [json.loads(data) for data in kept] == ([whole.facts()] if kept else [])
    assert (short.status, short.next_steps) == (whole.status, whole.next_steps)


@pytest.mark.parametrize(
    ("field", "whole", "first_line"),
    [
        ("diagnostics", result(diagnostics="first error\n" + "noise\n" * 2_000), "first error"),
        ("output_tail", result(tail="noise\n" * 2_000 + "last words"), "[cut: the whole is in artifacts]"),
    ],
)
def test_the_first_error_and_the_last_words_are_what_stays(field: str, whole: Any, first_line: str) -> None:
    short, _ = shortened(whole, 4_000)
    text = getattr(short, field).text
    assert text.startswith(first_line)
    assert "[cut: " in text
    assert text.endswith("last words\n") == (field == "output_tail")
    assert len(text) > 2_000


def test_the_shape_that_failed_is_the_last_to_go() -> None:
    short, _ = shortened(result(shapes=200), 2_500)
    assert 0 < len(short.shapes) < 200
    assert short.shapes[0].errors
