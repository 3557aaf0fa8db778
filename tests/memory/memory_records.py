"""Small valid records for tests of the store and of the fold."""

from __future__ import annotations

import secrets

from kernelguild.memory.schema import (
    AgentSlots,
    Candidate,
    CompileReport,
    Device,
    Evaluation,
    Event,
    EventBody,
    FunctionReference,
    Language,
    LeaseOpened,
    Proposal,
    ProposalsSubmitted,
    PuctSettings,
    RoundJudged,
    RoundStarted,
    Search,
    SearchStarted,
    Session,
    Status,
    Task,
    Tier,
    UnavailableTiming,
    Verdict,
)

SEARCH_ID = "5" * 32
EVALUATION_ID = "e" * 32
DEVICE = Device(
    model="amd-epyc-2c",
    instance="machine-a",
    kind="cpu",
    name="EPYC",
    cores=2,
    memory_bytes=1 << 33,
    toolchain="g++ 13",
)


def candidate(number: int) -> Candidate:
    return Candidate(language=Language.CPP, source=f"// {number}")


def task(name: str, *, seed: int = 0, description: str = "") -> Task:
    return Task(
        name=name,
        description=description,
        reference=FunctionReference(path="reference.py", source="def f(x): return x", function="f"),
        entry="f",
        seed=candidate(seed),
    )


def evaluation(of: Candidate, *, device: Device = DEVICE, status: Status = Status.COMPILE_ERROR) -> Evaluation:
    """A verdict of the compile tier."""
    return Evaluation(
        id=secrets.token_hex(16),
        candidate_id=of.id,
        task_id="a" * 32,
        task_name="a_task",
        device=device,
        judge_version="1",
        tier=Tier.COMPILE,
        status=status,
        message="expected ';'",
        compile=CompileReport(ok=False, command="g++ candidate.cpp", diagnostics="error: é\0", duration_s=0.1),
        timing=UnavailableTiming(reason="it did not compile"),
        verdict=Verdict.NONE,
        created_at_s=1.0,
        duration_s=0.5,
    )


def search_started(*, m: float = 0.7) -> SearchStarted:
    return SearchStarted(
        search=Search(
            id=SEARCH_ID,
            task_id="a" * 32,
            task_name="a_task",
            puct=PuctSettings(c=1, k=8, m=m, rho=4, epsilon=1e-3),
            agents=(AgentSlots(agent="tuner", count=2),),
            rounds=16,
            seed=0,
            created_at_s=1.0,
        ),
        task=task("a_task"),
        root_candidate_id=candidate(0).id,
        root_evaluation_id=EVALUATION_ID,
    )


def lease_opened(lease: int, *, node: int, path: tuple[int, ...]) -> LeaseOpened:
    return LeaseOpened(lease=lease, node=node, path=path, agent="tuner", expires_at_s=100.0)


def session(lease: int) -> Session:
    return Session(lease=lease, agent="tuner", outcome="submitted", proposals=1, started_at_s=1.0, ended_at_s=2.0)


def submitted(lease: int, priors: dict[int, float], *, duplicates: int = 0) -> ProposalsSubmitted:
    """A submission: candidate number -> prior."""
    proposals = tuple(
        Proposal(candidate=candidate(number), prior=prior, rationale=f"try {number}")
        for number, prior in priors.items()
    )
    return ProposalsSubmitted(lease=lease, proposals=proposals, duplicates=duplicates, session=session(lease))


def round_started(*path: int) -> RoundStarted:
    """The round of the path's last edge."""
    return RoundStarted(edge=path[-1], path=path)


def round_judged(*path: int, value: float, passed: bool = True) -> RoundJudged:
    return RoundJudged(
        edge=path[-1],
        path=path,
        evaluation_id=EVALUATION_ID,
        value=value,
        time_ratio=1 - value if passed else None,
        passed=passed,
    )


def log_of(*bodies: EventBody) -> list[Event]:
    """The bodies as events 1, 2, … of one search."""
    return [
        Event(search_id=SEARCH_ID, sequence=sequence, at_s=float(sequence), body=body)
        for sequence, body in enumerate(bodies, start=1)
    ]
