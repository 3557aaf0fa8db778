"""From what an evaluation saw to its verdict."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field

from ...memory.schema import (
    Candidate,
    Evaluation,
    Finding,
    Isolation,
    Language,
    MeasuredTiming,
    ProfilingReport,
    ShapeResult,
    Status,
    Tier,
    UnavailableTiming,
    Verdict,
)
from .artifacts import artifacts_of
from .build.built import Built
from .deep.examination import Examined
from .device import Site
from .failure import CandidateFailure, clean
from .interpreted import right_message
from .languages import RUNNERS
from .request import EvaluationRequest, Judged
from .statistics import Ratio, verdict_of
from .version import JUDGE_VERSION


@dataclass
class Seen:
    """What an evaluation has gathered so far."""

    site: Site
    built: Built | None = None
    shapes: list[ShapeResult] = field(default_factory=list)
    timing: MeasuredTiming | None = None
    suspicions: tuple[Finding, ...] = ()
    """What makes measured times `suspect`."""
    noticed: tuple[Finding, ...] = ()
    """Of a candidate whose outputs are right."""
    deep: Examined | None = None


def conclude(
    request: EvaluationRequest,
    seen: Seen,
    failure: CandidateFailure | None,
    *,
    remarks: tuple[Finding, ...],
    isolation: Isolation,
    created_at_s: float,
    duration_s: float,
) -> Judged:
    """The verdict on a candidate.

    Args:
        remarks: what the lint says of the task.
    """
    status = failure.status if failure else Status.PASSED
    timing = seen.timing if seen.timing and not failure else None
    shapes = list(seen.shapes)
    if failure is not None and failure.shape is not None:
        shapes.append(failure.shape)
    artifacts, contents = artifacts_of(seen.built, seen.deep)
    profile = seen.deep.report if seen.deep else None
    if isinstance(profile, ProfilingReport):
        profile = profile.model_copy(update={"raw_report": artifacts[-1]})
    evaluation = Evaluation(
        id=secrets.token_hex(16),
        candidate_id=request.candidate.id,
        task_id=request.task.id,
        task_name=request.task.name,
        device=seen.site.device,
        judge_version=JUDGE_VERSION,
        tier=request.tier,
        status=status,
        message=clean(failure.message) if failure else _praise(request, seen, timing),
        compile=seen.built.report if seen.built else None,
        shapes=tuple(shapes),
        timing=timing or UnavailableTiming(reason=_why_untimed(request, seen.site, failure)),
        verdict=_verdict(timing, seen.suspicions),
        profile=profile,
        findings=(*remarks, *_noticed(seen, failure)),
        isolation=isolation,
        output_tail=clean(failure.output) if failure else "",
        artifacts=artifacts,
        created_at_s=created_at_s,
        duration_s=duration_s,
    )
    return Judged(evaluation=evaluation, contents=tuple(base64.b64encode(data).decode() for data in contents))


def _verdict(timing: MeasuredTiming | None, suspicions: tuple[Finding, ...]) -> Verdict:
    if timing is None:
        return Verdict.NONE
    if suspicions:
        return Verdict.SUSPECT
    return verdict_of(Ratio(timing.time_ratio, timing.ratio_low, timing.ratio_high))


def _noticed(seen: Seen, failure: CandidateFailure | None) -> tuple[Finding, ...]:
    """What there is to say about the candidate."""
    if failure is not None:
        return (*seen.noticed, *failure.findings)
    return (*seen.noticed, *seen.suspicions, *(seen.deep.remarks if seen.deep else ()))


def _praise(request: EvaluationRequest, seen: Seen, timing: MeasuredTiming | None) -> str:
    if timing is None:
        if request.tier is Tier.COMPILE:
            runs = (request.candidate.language, seen.site.device.kind) in RUNNERS
            return "it compiles and loads" if runs else "it compiles; this host has no GPU to load it"
        return right_message(request.candidate.language, seen.site.device.kind, seen.shapes)
    if seen.suspicions:
        return f"every output is right, but the time is not to be believed: {seen.suspicions[0].evidence}"
    return (
        f"correct; {timing.speedup:.3g} times the baseline's speed "
        f"(99 % interval {timing.speedup_low:.3g} to {timing.speedup_high:.3g})"
    )


def why_untimed(candidate: Candidate, site: Site) -> str:
    """Why a right candidate's speed cannot be measured on this host; empty where it can."""
    if candidate.language is Language.TRITON and site.device.kind == "cpu":
        missing = site.why_no_gpu or "the task is for the processor"
        return f"Triton's interpreter checked it, which says nothing of its speed ({missing})"
    return ""


def _why_untimed(request: EvaluationRequest, site: Site, failure: CandidateFailure | None) -> str:
    if failure is not None:
        return f"the candidate did not pass ({failure.status.value})"
    if request.tier.is_timed:
        return why_untimed(request.candidate, site)
    return f"the {request.tier.value} tier takes no times; profile does"
