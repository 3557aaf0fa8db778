"""One audit from the command line: a line for each candidate as it is judged, then the sum."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..memory.clock import SystemClock
from ..tools.audit.corpus import load_corpus, select
from ..tools.audit.outcome import Outcome, Summary, audit_entry, summarise
from .services import open_services

HOLDS, BROKEN, NOTHING_JUDGED = 0, 1, 3
STATES = {"ok": "ok", "not_ok": "NOT OK", "unavailable": "-"}
COLUMNS = f"{'no.':<4} {'candidate':<30} {'expected':<13} {'':<7} {'ms':>6}  seen"


async def audit_once(patterns: Sequence[str], as_json: bool) -> int:
    """Judge the chosen part of the corpus in a home that is thrown away; returns the exit code.

    Raises:
        NotFoundError: a pattern names nothing.
        HarnessError: the judge broke.
    """
    entries = select(load_corpus(), patterns)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="kernelguild-audit-") as home:
        async with open_services(Path(home), SystemClock()) as services:
            if not as_json:
                print(COLUMNS)
            for entry in entries:
                outcomes.append(await audit_entry(entry, services.evaluator))
                if not as_json:
                    print(_line(outcomes[-1]), flush=True)
    summary = summarise(outcomes)
    print(_as_json(outcomes, summary) if as_json else _sum(summary))
    if summary.unavailable == len(outcomes):
        return NOTHING_JUDGED
    return HOLDS if summary.holds else BROKEN


def _line(outcome: Outcome) -> str:
    entry = outcome.entry
    number = "" if entry.technique is None else str(entry.technique)
    took = "" if outcome.duration_ms is None else f"{outcome.duration_ms:.0f}"
    columns = f"{number:<4} {entry.id:<30} {entry.expect:<13} {STATES[outcome.state]:<7} {took:>6}  {outcome.seen}"
    return columns if outcome.state != "not_ok" else f"{columns}\n{'':<5}{entry.title}: {outcome.message}"


def _sum(summary: Summary) -> str:
    cheats = f"{summary.cheats} cheats, {len(summary.passed_cheats)} got through{_names(summary.passed_cheats)}"
    honest = f"{summary.honest} honest candidates, {len(summary.failed_honest)} failed{_names(summary.failed_honest)}"
    text = f"\n{cheats}; {honest}; {summary.unavailable} unavailable here"
    if summary.reject_p50_ms is None:
        return text
    return f"{text}\na rejection after compiling takes {summary.reject_p50_ms:.0f} ms (median)"


def _names(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _as_json(outcomes: Sequence[Outcome], summary: Summary) -> str:
    rows = [
        {
            "technique": outcome.entry.technique,
            "title": outcome.entry.title,
            "candidate": outcome.entry.id,
            "task": outcome.entry.task,
            "device": outcome.entry.device,
            "expected": outcome.entry.expect.value,
            "seen": outcome.seen,
            "state": outcome.state,
            "duration_ms": outcome.duration_ms,
            "message": outcome.message,
        }
        for outcome in outcomes
    ]
    return json.dumps({"holds": summary.holds, **summary.model_dump(), "outcomes": rows}, indent=2)
