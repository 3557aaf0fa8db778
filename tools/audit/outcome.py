"""What the judge made of an entry, and whether that is what had to become of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

import anyio.to_thread

from ...memory.errors import ConfigError, UnavailableError
from ...memory.schema import NOT_ABOUT_THE_CANDIDATE, Evaluation, MeasuredTiming, Record, Status, Tier, Verdict
from ..evaluator import Evaluator
from ..judge.device import site_of
from .corpus import Entry, Expectation


class Outcome(Record):
    """One line of the audit."""

    entry: Entry
    state: Literal["ok", "not_ok", "unavailable"]
    seen: str
    """Status and verdict, or why there is none."""
    message: str
    """The judge's own words."""
    duration_ms: float | None = None
    """Of the whole evaluation."""
    reject_ms: float | None = None
    """Of a rejection once it was compiled; None for everything else."""


class Summary(Record):
    """The audit in numbers."""

    cheats: int
    honest: int
    passed_cheats: tuple[str, ...]
    """Cheats that got through."""
    failed_honest: tuple[str, ...]
    """Honest candidates that did not pass."""
    unavailable: int
    """Not judged on this host, and never counted as ok."""
    reject_p50_ms: float | None
    """The median rejection at the verify tier, from the end of compiling on, time-outs left out."""

    @property
    def holds(self) -> bool:
        """No cheat passed, no honest candidate failed, and something was judged at all."""
        judged = self.cheats + self.honest - self.unavailable
        return not self.passed_cheats and not self.failed_honest and judged > 0


async def audit_entry(entry: Entry, evaluator: Evaluator) -> Outcome:
    """Judge one entry through the real evaluator.

    Raises:
        HarnessError: the judge broke.
    """
    site = await anyio.to_thread.run_sync(site_of, entry.device)
    if site.why_no_gpu:
        return _unavailable(entry, site.why_no_gpu)
    task, candidate = await anyio.to_thread.run_sync(entry.load)
    try:
        evaluation = await evaluator.evaluate(task, candidate, entry.tier)
    except UnavailableError as error:
        return _unavailable(entry, str(error))
    except ConfigError as error:
        refused = entry.expect is Expectation.TASK_REFUSED
        return Outcome(entry=entry, state="ok" if refused else "not_ok", seen="task refused", message=str(error))
    return Outcome(
        entry=entry,
        state="ok" if is_expected(entry, evaluation) else "not_ok",
        seen=_seen(evaluation),
        message=evaluation.message,
        duration_ms=evaluation.duration_s * 1e3,
        reject_ms=_reject_ms(evaluation),
    )


def is_expected(entry: Entry, evaluation: Evaluation) -> bool:
    """Whether this is what had to become of it."""
    status = evaluation.status
    if status in NOT_ABOUT_THE_CANDIDATE:
        return False
    match entry.expect:
        case Expectation.REJECTED:
            return status in entry.statuses
        case Expectation.NEUTRALISED:
            return status is not Status.PASSED or evaluation.verdict in (
                Verdict.SLOWER, Verdict.INCONCLUSIVE, Verdict.SUSPECT,
            )  # fmt: skip
        case Expectation.HONEST:
            return status is Status.PASSED
        case _:
            return False


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    """Count, and name what is not as it must be."""
    honest = [outcome for outcome in outcomes if outcome.entry.expect is Expectation.HONEST]
    rejects_ms = [outcome.reject_ms for outcome in outcomes if outcome.reject_ms is not None]
    return Summary(
        cheats=len(outcomes) - len(honest),
        honest=len(honest),
        passed_cheats=tuple(o.entry.id for o in outcomes if o.state == "not_ok" and o not in honest),
        failed_honest=tuple(o.entry.id for o in honest if o.state == "not_ok"),
        unavailable=sum(outcome.state == "unavailable" for outcome in outcomes),
        reject_p50_ms=statistics.median(rejects_ms) if rejects_ms else None,
    )


def _unavailable(entry: Entry, why: str) -> Outcome:
    return Outcome(entry=entry, state="unavailable", seen=f"unavailable: {why}", message=why)


def _seen(evaluation: Evaluation) -> str:
    if not isinstance(evaluation.timing, MeasuredTiming):
        return evaluation.status.value
    return f"{evaluation.status.value}, {evaluation.verdict.value} ({evaluation.timing.speedup:.3g}x)"


def _reject_ms(evaluation: Evaluation) -> float | None:
    compiled = evaluation.compile
    if compiled is None or not compiled.ok or evaluation.tier is not Tier.VERIFY:
        return None
    if evaluation.status in (Status.PASSED, Status.TIMEOUT):
        return None
    spent_s = evaluation.duration_s - (0 if compiled.cached else compiled.duration_s)
    return spent_s * 1e3
