"""One evaluation from request to verdict: build, verify, time. Owns the reference, the seeds and the clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from ...memory.clock import Clock
from ...memory.errors import ConfigError, UnavailableError
from ...memory.schema import (
    Candidate,
    DeviceKind,
    Finding,
    KernelBenchReference,
    Language,
    Status,
    Task,
    Tier,
)
from . import leases
from .ahead import Ahead, Check
from .allocator import keep_freed_memory, share_one_arena
from .arena import required_bytes
from .bench import Bench, Program
from .build.builder import Builder
from .build.built import Built, Order, check
from .conclusion import Seen, conclude, why_untimed
from .conduct import Conduct
from .deep.cpu_examination import cpu_profile
from .deep.examination import Examined, examined_on_gpu
from .device import Site, site_of
from .extension.builder import ExtensionBuilder
from .extension.headers import HeaderStore
from .extension.store import ExtensionStore
from .failure import CandidateFailure
from .gpu import Gpu
from .interpreted import code_to_run, fits_interpreter, interpretable, patient
from .languages import RUNNERS
from .lint import lint
from .peaks import Peaks, measured_peaks
from .place import Host, Place
from .problem import Problem, Shape, open_problem
from .request import EvaluationRequest, Judged, Progress
from .timing import Timer
from .trial import CallLimits
from .verify import Verifier, draw_checks

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
    fits: Callable[[Shape], bool] | None = None
    """Which shapes can run where Triton's interpreter runs them; None where all do."""

    @property
    def timed_shapes(self) -> list[Shape]:
        return [shape for shape in self.shapes if not shape.hidden]

    @property
    def draws_ahead(self) -> bool:
        """Whether the processor can prepare what is to be checked while the compiler works."""
        runs = (self.candidate.language, self.place.kind) in RUNNERS
        return runs and self.tier is not Tier.COMPILE and self.place.kind == "cpu" and self.fits is None

    def checks(self) -> Iterator[Check]:
        """Of all shapes."""
        return draw_checks(self.problem, self.shapes, self.task.tolerance)

    @property
    def size_bytes(self) -> int:
        """Of the memory that a worker needs for any of the shapes."""
        return max(required_bytes(self.problem.signature(shape).tensors) for shape in self.shapes)


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
        share_one_arena()

    def evaluate(self, request: EvaluationRequest, report: Report) -> Judged:
        """Judge one candidate.

        Raises:
            ConfigError: the task's reference or baseline does not work.
            UnavailableError, HarnessError: no verdict is possible.
        """
        start_s = self._clock.monotonic_s()
        seen = Seen(site_of(request.task.device))
        try:
            self._climb(request, seen, report)
            failure = None
        except CandidateFailure as caught:
            failure = caught
        finally:
            self._bench.clear_scratches()
        return conclude(
            request,
            seen,
            failure,
            remarks=self._lint[request.task.id],
            isolation=self._bench.isolation(request.candidate.language, seen.site.device.kind),
            created_at_s=self._clock.now_s(),
            duration_s=self._clock.monotonic_s() - start_s,
        )

    def _job(self, request: EvaluationRequest, site: Site) -> Job:
        place = self._place(site.device.kind)
        problem = self._problem(request.task, place)
        generator = _fresh_generator()
        fits = fits_interpreter(request.candidate, problem, place)
        shapes = problem.shapes(generator, fits)
        return Job(request.task, request.candidate, request.tier, site, place, problem, shapes, generator, fits)

    def _climb(self, request: EvaluationRequest, seen: Seen, report: Report) -> None:
        """Go up the tiers until the asked one is reached or the candidate fails."""
        report(Progress(done=0, total=10, message="compiling"))
        with ExitStack() as lease:
            lease.enter_context(leases.working(seen.site.device))
            job = self._job(request, seen.site)
            ahead = Ahead(job.checks(), lease.pop_all(), draws=job.draws_ahead)
        with ahead as checks:
            with leases.compiling(seen.site.device):
                seen.built = self._build(job, job.candidate)
                seen.built = self._with_extensions(job, job.candidate, seen.built)
            check(seen.built)
            with leases.working(seen.site.device):
                program = self._verified(job, seen.built, checks, seen, report)
        if program is not None and job.tier.is_timed and not why_untimed(job.candidate, job.site):
            self._time(job, program, seen, report)
            if job.tier is Tier.DEEP:
                report(Progress(done=10, total=10, message="looking deeper"))
                self._examine(job, program, seen)

    def _verified(self, job: Job, built: Built, checks: Iterable[Check], seen: Seen, report: Report) -> Program | None:
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
        verifier = self._verifier(job, built)
        seen.shapes = verifier.verify(
            program,
            checks if verifier.shapes is job.shapes else draw_checks(job.problem, verifier.shapes, job.task.tolerance),
            lambda done, total: report(Progress(done=1 + 2 * done / total, total=10, message="checking correctness")),
        )
        conduct = Conduct(self._bench, job.task, job.problem, job.place)
        seen.noticed = conduct.noticed(program, verifier.shapes[0], verifier.precision.findings())
        return program

    def _verifier(self, job: Job, built: Built) -> Verifier:
        shapes, limits = job.shapes, CallLimits.of(job.task.constraints)
        if job.fits is not None:
            shapes = interpretable(shapes, job.fits, built.why_not_interpreted)
            limits = patient(limits)
        return Verifier(self._bench, job.task, job.problem, job.place, shapes, limits)

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

    def _time(self, job: Job, program: Program, seen: Seen, report: Report) -> None:
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

    def _examine(self, job: Job, program: Program, seen: Seen) -> None:
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
            device_code=code_to_run(built.device_code, candidate.language, job.place.kind),
            loop=built.loop,
        )


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
