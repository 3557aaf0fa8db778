"""The judge's verdict on a candidate: three separate fields, so that none can be mistaken for another."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .artifact import Artifact
from .base import ContentId, Record, StoredRecord, content_id
from .device import Device
from .launch_plan import KernelResources
from .profiling import CpuProfile, ProfilingReport, UnavailableProfile


class Status(StrEnum):
    """What became of the candidate. Everything but `harness_error` and `cancelled` is about the candidate."""

    PASSED = "passed"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    RESOURCE_LIMIT = "resource_limit"
    INCORRECT_SHAPE = "incorrect_shape"
    INCORRECT_DTYPE = "incorrect_dtype"
    INCORRECT_VALUES = "incorrect_values"
    CONSTRAINT_VIOLATION = "constraint_violation"
    INTEGRITY_VIOLATION = "integrity_violation"
    CANCELLED = "cancelled"
    HARNESS_ERROR = "harness_error"


NOT_ABOUT_THE_CANDIDATE = frozenset({Status.CANCELLED, Status.HARNESS_ERROR})


class Tier(StrEnum):
    """How far the judge goes; each tier includes the ones before it."""

    COMPILE = "compile"
    VERIFY = "verify"
    PROFILE = "profile"
    DEEP = "deep"
    """Counters, and on a GPU memory and race checks: for what would be the best so far."""

    @property
    def is_timed(self) -> bool:
        return self in (Tier.PROFILE, Tier.DEEP)


class Verdict(StrEnum):
    """Speed against the baseline. `none` where nothing was timed."""

    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    SUSPECT = "suspect"
    NONE = "none"


class CompileReport(Record):
    """What the compiler said."""

    ok: bool
    command: str
    """The command line, with paths shortened to file names."""
    diagnostics: str
    """Errors and warnings, first error first, cut at a line end; the whole log is an artifact."""
    truncated: bool = False
    """Whether `diagnostics` is shorter than what the compiler printed."""
    cached: bool = False
    kernels: tuple[KernelResources, ...] = ()
    """Device code: what each kernel takes."""
    duration_s: float = Field(ge=0)


class OutputError(Record):
    """How far one output is from the float64 reference, in the worst case seen."""

    output: str
    max_abs_error: float
    """Largest |y - ref| (inf where finiteness differs)."""
    tolerance_ratio: float
    """Largest |y - ref| / (relative * |ref| + rms * rms(ref)); above 1 the output is wrong."""
    mismatched: int = Field(ge=0)
    """Elements out of tolerance."""
    elements: int = Field(ge=0)
    worst_index: tuple[int, ...] = ()
    worst_value: float | None = None
    worst_expected: float | None = None


class ShapeTiming(Record):
    """Interleaved times at one shape, medians over fresh worker pairs; the empty call is subtracted."""

    candidate_ms: float = Field(ge=0)
    baseline_ms: float = Field(gt=0)
    time_ratio: float = Field(ge=0)
    """time(candidate) / time(baseline): the geometric mean over the pairs' medians."""
    ratio_low: float = Field(ge=0)
    ratio_high: float = Field(ge=0)
    """The 99 % interval of `time_ratio`."""
    pairs: int = Field(ge=1)
    samples: int = Field(ge=1)
    """Timed calls of each side, all pairs together; each had fresh inputs and a checked output."""
    overhead_ms: float = Field(ge=0)
    """The empty call that was subtracted from each sample."""
    achieved_gb_s: float | None = None
    """The task's declared bytes over `candidate_ms`; None where the task declares none."""
    achieved_gflop_s: float | None = None
    floor_ms: float | None = None
    """What the device's measured peaks allow at best, with headroom; None where that is too short to be timed."""


class ShapeResult(Record):
    """What was seen at one shape."""

    symbols: dict[str, int]
    """The symbols' values; a KernelBench problem has one shape and no symbols."""
    hidden: bool
    """True for a shape that the judge chose and the candidate could not know."""
    cases: int = Field(ge=0)
    """Input cases checked before timing (each a data distribution of its own)."""
    failed_case: str | None = None
    """The data distribution of the first case that failed."""
    errors: tuple[OutputError, ...] = ()
    timing: ShapeTiming | None = None


class MeasuredTiming(Record):
    """Times were taken."""

    kind: Literal["measured"] = "measured"
    method: Literal["wall_clock_interleaved", "device_events_interleaved"] = "wall_clock_interleaved"
    """The judge's own clock, or, where no host code of the candidate runs, the device's events."""
    candidate_ms: float = Field(ge=0)
    """Geometric mean over the timed shapes."""
    baseline_ms: float = Field(gt=0)
    time_ratio: float = Field(gt=0)
    """time(candidate) / time(baseline), the geometric mean over the timed shapes."""
    ratio_low: float = Field(gt=0)
    ratio_high: float = Field(gt=0)
    """The 99 % interval of `time_ratio`."""
    reference_ms: float | None = None
    """The PyTorch reference at the same shapes, for context; None where it was not timed."""
    aa_band: float | None = None
    """Two equal programs, timed here like this, differ by less than this share in 99 of 100 measurements."""
    conditions: str = ""
    """GPU: its clocks at the end of the measurement, and why they were held back."""

    @property
    def speedup(self) -> float:
        """time(baseline) / time(candidate)."""
        return 1.0 / self.time_ratio

    @property
    def speedup_low(self) -> float:
        return 1.0 / self.ratio_high

    @property
    def speedup_high(self) -> float:
        return 1.0 / self.ratio_low


class UnavailableTiming(Record):
    """No times, and why."""

    kind: Literal["unavailable"] = "unavailable"
    reason: str


Timing = Annotated[MeasuredTiming | UnavailableTiming, Field(discriminator="kind")]


class Finding(Record):
    """Something the judge noticed, with its evidence."""

    kind: str
    """A short id such as `input_modified`."""
    evidence: str


class Isolation(Record):
    """The layers that confined the compiler and the candidate in this evaluation."""

    confined: bool
    layers: tuple[str, ...]
    """The layers reached, such as `user_namespace`, `pid_namespace`, `landlock`, `rlimits`."""
    missing: tuple[str, ...] = ()
    """Layers that this host refused, each with the reason."""


class Evaluation(StoredRecord):
    """One verdict. It is a pure function of its request, but for the measured times."""

    id: ContentId
    """Random: two measurements of the same key are two evaluations."""
    candidate_id: ContentId
    task_id: ContentId
    task_name: str
    device: Device
    judge_version: str
    tier: Tier
    status: Status
    message: str
    """The root cause in one or two sentences; what to do next is the caller's to add."""
    compile: CompileReport | None = None
    shapes: tuple[ShapeResult, ...] = ()
    timing: Timing
    verdict: Verdict
    profile: Annotated[ProfilingReport | CpuProfile | UnavailableProfile, Field(discriminator="tool")] | None = None
    """The deep tier's counters; None below it."""
    findings: tuple[Finding, ...] = ()
    isolation: Isolation | None = None
    output_tail: str = ""
    """The end of what the candidate printed: untrusted text, control characters removed."""
    artifacts: tuple[Artifact, ...] = ()
    created_at_s: float
    """Unix seconds."""
    duration_s: float = Field(ge=0)

    @property
    def key(self) -> str:
        """Candidate, task, device model, toolchain, judge version, tier: same key, same question."""
        return evaluation_key(self.candidate_id, self.task_id, self.device, self.judge_version, self.tier)

    @model_validator(mode="after")
    def _status_decides_the_fields(self) -> Evaluation:
        measured = isinstance(self.timing, MeasuredTiming)
        if measured and self.status is not Status.PASSED:
            raise ValueError(f"status {self.status.value} cannot carry measured times")
        if measured and not self.tier.is_timed:
            raise ValueError(f"tier {self.tier.value} cannot carry measured times")
        if measured == (self.verdict is Verdict.NONE):
            raise ValueError(f"verdict {self.verdict.value} does not fit timing {self.timing.kind}")
        if self.status is Status.COMPILE_ERROR and (self.compile is None or self.compile.ok):
            raise ValueError("status compile_error needs a failed compile report")
        if self.status is Status.PASSED and self.tier is not Tier.COMPILE and not self.shapes:
            raise ValueError("status passed beyond the compile tier needs shape results")
        return self


def evaluation_key(candidate_id: str, task_id: str, device: Device, judge_version: str, tier: Tier) -> str:
    """What the judge was asked, as one id."""
    return content_id(candidate_id, task_id, device.model, device.toolchain, judge_version, tier.value)
