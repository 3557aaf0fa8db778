"""One evaluation from request to verdict: build, verify, time. Owns the reference, the seeds and the clock."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ...memory.clock import Clock
from ...memory.errors import ConfigError, UnavailableError
from ...memory.schema import (
    Candidate,
    DeviceKind,
    Evaluation,
    Finding,
    KernelBenchReference,
    Language,
    MeasuredTiming,
    ProfilingReport,
    ShapeResult,
    Status,
    Task,
    Tier,
    UnavailableTiming,
    Verdict,
)
from . import leases
from .allocator import keep_freed_memory
from .arena import required_bytes
from .artifacts import artifacts_of
from .bench import Bench, Program
from .build.builder import Builder
from .build.built import Built, Order, check
from .conduct import Conduct
from .deep.cpu_examination import cpu_profile
from .deep.examination import Examined, examined_on_gpu
from .device import Site, site_of
from .extension.builder import ExtensionBuilder
from .extension.headers import HeaderStore
from .extension.store import ExtensionStore
from .failure import CandidateFailure, clean
from .gpu import Gpu
from .languages import RUNNERS
from .lint import lint
from .peaks import Peaks, measured_peaks
from .place import Host, Place
from .problem import Problem, Shape, open_problem
from .request import EvaluationRequest, Judged, Progress
from .statistics import Ratio, verdict_of
from .timing import Timer
from .verify import Verifier
from .version import JUDGE_VERSION

Report = Callable[[Progress], None]
KNOWN_PROBLEMS = 8


@dataclass(frozen=True)
class Job:
    """One evaluation's fixed parts."""

    task: Task
    candidate: Candidate
    tier: Tier
    site: Site
    place: Place
    problem: Problem
    shapes: list[Shape]
    """The timed ones, then hidden ones drawn for this evaluation alone."""
    generator: torch.Generator

    @property
    def timed_shapes(self) -> list[Shape]:
        return [shape for shape in self.shapes if not shape.hidden]

    @property
    def size_bytes(self) -> int:
        """Of the memory that a worker needs for any of the shapes."""
        return max(required_bytes(self.problem.signature(shape).tensors) for shape in self.shapes)


@dataclass
class Findings:
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


class Judge:
    """Evaluates requests one after the other; keeps zygotes, compiled libraries and loaded references warm."""

    def __init__(self, bench: Bench, clock: Clock, kept: Path | None = None) -> None:
        """
        Args:
            kept: the folder in which built extensions outlive this judge, which candidates cannot write; without one
                they end with it.
        """
        self._bench = bench
        self._builder = Builder(bench)
        kept = kept or bench.folder / "kept"
        self._extensions = ExtensionBuilder(bench, ExtensionStore(kept / "extensions"), HeaderStore(kept / "headers"))
        self._clock = clock
        self._problems: dict[str, Problem] = {}
        self._reference_ratios: dict[str, float] = {}
        self._lint: dict[str, tuple[Finding, ...]] = {}
        self._places: dict[DeviceKind, Place] = {"cpu": Host()}
        # torch's own threads would compete with the worker that is being timed.
        torch.set_num_threads(1)
        keep_freed_memory()

    def evaluate(self, request: EvaluationRequest, report: Report) -> Judged:
        """Judge one candidate.

        Raises:
            ConfigError: the task's reference or baseline does not work.
            UnavailableError, HarnessError: no verdict is possible.
        """
        start_s = self._clock.monotonic_s()
        seen = Findings(site_of(request.task.device))
        try:
            self._climb(request, seen, report)
            failure = None
        except CandidateFailure as caught:
            failure = caught
        finally:
            self._bench.clear_scratches()
        return self._conclude(request, seen, failure, self._clock.monotonic_s() - start_s)

    def _job(self, request: EvaluationRequest, site: Site) -> Job:
        place = self._place(site.device.kind)
        problem = self._problem(request.task, place)
        generator = _fresh_generator()
        shapes = problem.shapes(generator)
        return Job(request.task, request.candidate, request.tier, site, place, problem, shapes, generator)

    def _climb(self, request: EvaluationRequest, seen: Findings, report: Report) -> None:
        """Go up the tiers until the asked one is reached or the candidate fails."""
        report(Progress(done=0, total=10, message="compiling"))
        with leases.working(seen.site.device):
            job = self._job(request, seen.site)
        with leases.compiling(seen.site.device):
            seen.built = self._build(job, job.candidate)
            seen.built = self._with_extensions(job, job.candidate, seen.built)
        check(seen.built)
        with leases.working(seen.site.device):
            program = self._verified(job, seen.built, seen, report)
        if program is not None and job.tier.is_timed and not why_untimed(job.candidate, job.site):
            self._time(job, program, seen, report)
            if job.tier is Tier.DEEP:
                report(Progress(done=10, total=10, message="looking deeper"))
                self._examine(job, program, seen)

    def _verified(self, job: Job, built: Built, seen: Findings, report: Report) -> Program | None:
        """The candidate, found right; None where less was asked for or no more can be done."""
        if (job.candidate.language, job.place.kind) not in RUNNERS:
            self._stop_before_running(job)
            return None
        program = self._program(job, job.candidate, built)
        if job.tier is Tier.COMPILE:
            # The compile tier of a Python file ends with the class constructed; a library's with its load.
            self._bench.seat(program, job.place, job.size_bytes).close()
            return None
        report(Progress(done=1, total=10, message="checking correctness"))
        verifier = Verifier(self._bench, job.task, job.problem, job.place, job.shapes)
        seen.shapes = verifier.verify(
            program,
            lambda done, total: report(Progress(done=1 + 2 * done / total, total=10, message="checking correctness")),
        )
        conduct = Conduct(self._bench, job.task, job.problem, job.place)
        seen.noticed = conduct.noticed(program, job.shapes[0], verifier.precision.findings())
        return program

    def _stop_before_running(self, job: Job) -> None:
        language = job.candidate.language.value
        if job.task.device == "cuda" and not job.site.why_no_gpu:
            raise ConfigError(f"task {job.task.name} is for a GPU, where {language} candidates do not run")
        if job.task.device == "cpu":
            raise ConfigError(f"task {job.task.name} is for the processor, where {language} candidates do not run")
        if job.tier is not Tier.COMPILE:
            raise UnavailableError(
                f"{language} candidates of task {job.task.name} run on a GPU only, and {job.site.why_no_gpu}; "
                "the compile tier works here"
            )

    def _time(self, job: Job, program: Program, seen: Findings, report: Report) -> None:
        report(Progress(done=3, total=10, message="timing against the baseline"))
        timer = Timer(
            self._bench,
            job.task,
            job.problem,
            job.place,
            job.generator,
            job.site.device,
            self._clock,
            self._reference_ratios,
        )
        reference_candidate = _reference_candidate(job.task)
        beside = job.task.baseline == "seed" and job.task.seed != reference_candidate
        with leases.compiling(job.site.device):
            reference = self._trusted(job, reference_candidate)
            baseline = self._trusted(job, job.task.seed) if beside else reference
        timed = timer.time(
            job.timed_shapes,
            program,
            baseline,
            reference,
            lambda done, total: report(Progress(done=3 + 7 * done / total, total=10, message="timing")),
        )
        seen.timing, seen.suspicions = timed.timing, timed.findings
        times = iter(timed.per_shape)
        seen.shapes = [
            result if result.hidden else result.model_copy(update={"timing": next(times)}) for result in seen.shapes
        ]

    def _examine(self, job: Job, program: Program, seen: Findings) -> None:
        """Counters, and checks of what no output shows."""
        with leases.timing(job.site.device):
            if isinstance(job.place, Gpu):
                seen.deep = examined_on_gpu(
                    self._bench.folder, job.problem, job.place, program, job.shapes, self._peaks(job)
                )
            else:
                seen.deep = Examined(
                    cpu_profile(
                        self._bench, job.task, job.problem, job.place, program, job.timed_shapes[0], job.size_bytes
                    )
                )
        violations = seen.deep.violations
        if violations:
            raise CandidateFailure(Status.RUNTIME_ERROR, violations[0].evidence, findings=violations)

    def _peaks(self, job: Job) -> Peaks:
        threads = job.task.constraints.threads
        return measured_peaks(job.site.device, threads, job.place.meter(threads), self._clock.now_s())

    def _place(self, kind: DeviceKind) -> Place:
        if kind not in self._places:
            self._places[kind] = Gpu()
        return self._places[kind]

    def _problem(self, task: Task, place: Place) -> Problem:
        if task.id not in self._problems:
            while len(self._problems) >= KNOWN_PROBLEMS:
                oldest = next(iter(self._problems))
                del self._problems[oldest], self._lint[oldest]
            problem = open_problem(task, place.kind)
            self._lint[task.id] = lint(problem, task, _fresh_generator())
            self._problems[task.id] = problem
        return self._problems[task.id]

    def _build(self, job: Job, candidate: Candidate) -> Built:
        calls = tuple((shape, job.problem.signature(shape)) for shape in job.shapes)
        arch = job.place.arch or job.task.constraints.target_arch
        return self._builder.build(Order(job.task, candidate, calls, arch, job.place.sm_count))

    def _trusted(self, job: Job, candidate: Candidate) -> Program:
        """The seed or the reference, built; that it fails is the task's fault."""
        try:
            built = self._build(job, candidate)
            check(self._with_extensions(job, candidate, built))
        except CandidateFailure as failure:
            raise ConfigError(f"task {job.task.name}: its baseline does not compile: {failure.message}") from None
        return self._program(job, candidate, built)

    def _with_extensions(self, job: Job, candidate: Candidate, built: Built) -> Built:
        if built.target is None or candidate.language is not Language.PYTORCH:
            return built
        return self._extensions.complete(built, self._program(job, candidate, built), job.place)

    def _program(self, job: Job, candidate: Candidate, built: Built) -> Program:
        task = job.task
        return Program(
            language=candidate.language,
            target=check(built),
            entry=task.entry if candidate.language is Language.CPP else "ModelNew",
            scratch=self._bench.new_scratch(RUNNERS[candidate.language, job.place.kind].preload),
            constraints=task.constraints,
            init_inputs=tuple(job.problem.init_inputs),
            construction_seed=job.problem.construction_seed,
            device_code=built.device_code,
        )

    def _conclude(
        self, request: EvaluationRequest, seen: Findings, failure: CandidateFailure | None, duration_s: float
    ) -> Judged:
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
            message=clean(failure.message) if failure else _praise(request.tier, timing, seen.suspicions),
            compile=seen.built.report if seen.built else None,
            shapes=tuple(shapes),
            timing=timing or UnavailableTiming(reason=_why_untimed(request, seen.site, failure)),
            verdict=_verdict(timing, seen.suspicions),
            profile=profile,
            findings=(*self._lint[request.task.id], *_noticed(seen, failure)),
            isolation=self._bench.isolation(request.candidate.language, seen.site.device.kind),
            output_tail=clean(failure.output) if failure else "",
            artifacts=artifacts,
            created_at_s=self._clock.now_s(),
            duration_s=duration_s,
        )
        return Judged(evaluation=evaluation, contents=tuple(base64.b64encode(data).decode() for data in contents))


def _fresh_generator() -> torch.Generator:
    """Seeded by the operating system after the candidate's text is fixed; nobody else ever sees the seed."""
    generator = torch.Generator()
    generator.manual_seed(int.from_bytes(os.urandom(7), "little"))
    return generator


def _reference_candidate(task: Task) -> Candidate:
    """The PyTorch reference as a program of its own, timed as every program is."""
    if isinstance(task.reference, KernelBenchReference):
        return task.seed
    call = f"{task.reference.function}(*inputs, **symbols)"
    wrapper = f"\n\n\nclass ModelNew:\n    def __call__(self, *inputs, **symbols):\n        return {call}\n"
    return Candidate(language=Language.PYTORCH, source=task.reference.source.rstrip() + wrapper)


def _verdict(timing: MeasuredTiming | None, suspicions: tuple[Finding, ...]) -> Verdict:
    if timing is None:
        return Verdict.NONE
    if suspicions:
        return Verdict.SUSPECT
    return verdict_of(Ratio(timing.time_ratio, timing.ratio_low, timing.ratio_high))


def _noticed(seen: Findings, failure: CandidateFailure | None) -> tuple[Finding, ...]:
    """What there is to say about the candidate."""
    if failure is not None:
        return (*seen.noticed, *failure.findings)
    return (*seen.noticed, *seen.suspicions, *(seen.deep.remarks if seen.deep else ()))


def _praise(tier: Tier, timing: MeasuredTiming | None, suspicions: tuple[Finding, ...]) -> str:
    if timing is None:
        return "it compiles and loads" if tier is Tier.COMPILE else "every output is right at every shape"
    if suspicions:
        return f"every output is right, but the time is not to be believed: {suspicions[0].evidence}"
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
