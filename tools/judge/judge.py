"""One evaluation from request to verdict: build, verify, time. Owns the reference, the seeds and the clock."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ...memory.clock import Clock
from ...memory.errors import ConfigError, UnavailableError
from ...memory.schema import (
    Artifact,
    Candidate,
    Evaluation,
    Isolation,
    KernelBenchReference,
    Language,
    MeasuredTiming,
    ShapeResult,
    Status,
    Task,
    Tier,
    UnavailableTiming,
    Verdict,
)
from .arena import Arena, required_bytes
from .bench import Bench, Program
from .build import Builder, Built, check
from .device import this_device
from .failure import CandidateFailure, clean
from .languages import LANGUAGES
from .problem import Problem, open_problem
from .request import EvaluationRequest, Judged, Progress
from .statistics import Ratio, verdict_of
from .timing import Timer
from .verify import Verifier
from .version import JUDGE_VERSION

Report = Callable[[Progress], None]
KNOWN_PROBLEMS = 8
MAX_ARTIFACT_BYTES = 4 << 20
"""A larger library is padding; it is not worth its place in the store."""


@dataclass
class Findings:
    """What an evaluation has gathered so far."""

    built: Built | None = None
    shapes: list[ShapeResult] = field(default_factory=list)
    timing: MeasuredTiming | None = None


class Judge:
    """Evaluates requests one after the other; keeps zygotes, compiled libraries and loaded references warm."""

    def __init__(self, bench: Bench, isolation: Isolation, clock: Clock) -> None:
        if not isolation.confined:
            raise UnavailableError(
                f"this host cannot confine candidates ({'; '.join(isolation.missing)}): kernelguild needs user "
                "namespaces and Landlock (Linux 5.13 or later; in a container, allow unshare and landlock)"
            )
        self._bench = bench
        self._builder = Builder(bench)
        self._isolation = isolation
        self._clock = clock
        self._problems: dict[str, Problem] = {}
        self._device = this_device()
        # torch's own threads would compete with the worker that is being timed.
        torch.set_num_threads(1)

    def evaluate(self, request: EvaluationRequest, report: Report) -> Judged:
        """Judge one candidate.

        Raises:
            ConfigError: the task's reference or baseline does not work.
            UnavailableError, HarnessError: no verdict is possible.
        """
        start_s = self._clock.monotonic_s()
        seen = Findings()
        try:
            self._climb(request, seen, report)
            failure = None
        except CandidateFailure as caught:
            failure = caught
        finally:
            self._bench.clear_scratches()
        return self._conclude(request, seen, failure, self._clock.monotonic_s() - start_s)

    def _climb(self, request: EvaluationRequest, seen: Findings, report: Report) -> None:
        """Go up the tiers until the asked one is reached or the candidate fails."""
        task, candidate, tier = request.task, request.candidate, request.tier
        generator = _fresh_generator()
        report(Progress(done=0, total=10, message="compiling"))
        problem = self._problem(task, generator)
        seen.built = self._build(task, candidate, problem, generator)
        program = self._program(task, candidate, problem, check(seen.built))
        if tier is Tier.COMPILE:
            self._load_once(program, problem, generator)
            return
        report(Progress(done=1, total=10, message="checking correctness"))
        verifier = Verifier(self._bench, task, problem, generator)
        seen.shapes = verifier.verify(
            program,
            lambda done, total: report(Progress(done=1 + 2 * done / total, total=10, message="checking correctness")),
        )
        if tier is Tier.PROFILE:
            self._time(task, program, problem, generator, seen, report)

    def _time(
        self, task: Task, program: Program, problem: Problem, generator: torch.Generator, seen: Findings, report: Report
    ) -> None:
        report(Progress(done=3, total=10, message="timing against the baseline"))
        timer = Timer(self._bench, task, problem, generator, self._device.instance)
        reference_candidate = _reference_candidate(task)
        reference = self._trusted(task, reference_candidate, problem, generator)
        beside = task.baseline == "seed" and task.seed != reference_candidate
        baseline = self._trusted(task, task.seed, problem, generator) if beside else reference
        timing, per_shape = timer.time(
            program,
            baseline,
            reference,
            lambda done, total: report(Progress(done=3 + 7 * done / total, total=10, message="timing")),
        )
        seen.timing = timing
        times = iter(per_shape)
        seen.shapes = [
            result if result.hidden else result.model_copy(update={"timing": next(times)}) for result in seen.shapes
        ]

    def _problem(self, task: Task, generator: torch.Generator) -> Problem:
        if task.id not in self._problems:
            while len(self._problems) >= KNOWN_PROBLEMS:
                self._problems.pop(next(iter(self._problems)))
            self._problems[task.id] = open_problem(task, generator)
        return self._problems[task.id]

    def _build(self, task: Task, candidate: Candidate, problem: Problem, generator: torch.Generator) -> Built:
        shape = problem.shapes(generator)[0]
        return self._builder.build(task, candidate, problem.signature(shape))

    def _trusted(self, task: Task, candidate: Candidate, problem: Problem, generator: torch.Generator) -> Program:
        """The seed or the reference, built; that it fails is the task's fault."""
        try:
            target = check(self._build(task, candidate, problem, generator))
        except CandidateFailure as failure:
            raise ConfigError(f"task {task.name}: its baseline does not compile: {failure.message}") from None
        return self._program(task, candidate, problem, target)

    def _program(self, task: Task, candidate: Candidate, problem: Problem, target: Path) -> Program:
        return Program(
            language=candidate.language,
            target=target,
            entry=task.entry if candidate.language is Language.CPP else "ModelNew",
            scratch=self._bench.new_scratch(LANGUAGES[candidate.language].preload),
            constraints=task.constraints,
            init_inputs=tuple(problem.init_inputs),
            construction_seed=problem.construction_seed,
        )

    def _load_once(self, program: Program, problem: Problem, generator: torch.Generator) -> None:
        """The compile tier of a Python file ends with the class constructed; a library's with its load."""
        shape = problem.shapes(generator)[0]
        with Arena(required_bytes(problem.signature(shape).tensors)) as arena:
            self._bench.start(program, arena).close()

    def _conclude(
        self, request: EvaluationRequest, seen: Findings, failure: CandidateFailure | None, duration_s: float
    ) -> Judged:
        status = failure.status if failure else Status.PASSED
        timing = seen.timing if seen.timing and not failure else None
        shapes = list(seen.shapes)
        if failure is not None and failure.shape is not None:
            shapes.append(failure.shape)
        artifacts, contents = _artifacts(seen.built)
        evaluation = Evaluation(
            id=secrets.token_hex(16),
            candidate_id=request.candidate.id,
            task_id=request.task.id,
            task_name=request.task.name,
            device=self._device,
            judge_version=JUDGE_VERSION,
            tier=request.tier,
            status=status,
            message=clean(failure.message) if failure else _praise(request.tier, timing),
            compile=seen.built.report if seen.built else None,
            shapes=tuple(shapes),
            timing=timing or UnavailableTiming(reason=_why_untimed(request.tier, failure)),
            verdict=_verdict(timing),
            findings=failure.findings if failure else (),
            isolation=self._isolation.model_copy(
                update={"missing": self._bench.missing_layers(request.candidate.language)}
            ),
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


def _verdict(timing: MeasuredTiming | None) -> Verdict:
    if timing is None:
        return Verdict.NONE
    return verdict_of(Ratio(timing.time_ratio, timing.ratio_low, timing.ratio_high))


def _praise(tier: Tier, timing: MeasuredTiming | None) -> str:
    if timing is None:
        return "it compiles and loads" if tier is Tier.COMPILE else "every output is right at every shape"
    return (
        f"correct; {timing.speedup:.3g} times the baseline's speed "
        f"(99 % interval {timing.speedup_low:.3g} to {timing.speedup_high:.3g})"
    )


def _why_untimed(tier: Tier, failure: CandidateFailure | None) -> str:
    if failure is not None:
        return f"the candidate did not pass ({failure.status.value})"
    return f"the {tier.value} tier takes no times; profile does"


def _artifacts(built: Built | None) -> tuple[tuple[Artifact, ...], list[bytes]]:
    files: list[tuple[str, str, bytes]] = []
    if built is not None and built.log:
        files.append(("compile.log", "text/plain", built.log))
    if built is not None and built.target is not None and built.target.suffix == ".so":
        library = built.target.read_bytes()
        if len(library) <= MAX_ARTIFACT_BYTES:
            files.append(("candidate.so", "application/octet-stream", library))
    artifacts = tuple(
        Artifact(name=name, digest=hashlib.sha256(data).hexdigest(), size_bytes=len(data), media_type=media)
        for name, media, data in files
    )
    return artifacts, [data for _, _, data in files]
