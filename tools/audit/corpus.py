"""The corpus as records: which candidate tries what, on which task, and what must become of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field

from ...memory.errors import NotFoundError
from ...memory.schema import Candidate, Record, Status, Task, Tier
from ...memory.yaml_file import load_yaml
from ..candidates import load_candidate
from ..tasks import KERNELBENCH_CPU_PREFIX, load_task

CORPUS = Path(__file__).parent / "corpus"
TECHNIQUES = 48


class Expectation(StrEnum):
    """What must become of a candidate."""

    REJECTED = "rejected"
    """It fails, with one of the named statuses."""
    NEUTRALISED = "neutralised"
    """It may be right, but its claimed speed is not believed: it is not called faster."""
    TASK_REFUSED = "task_refused"
    """Its task is worth nothing, and the judge says so instead of judging."""
    HONEST = "honest"
    """It passes."""


class CheatFile(Record):
    """One file that tries a technique."""

    file: str
    """In the folder `cheats`."""
    task: str
    """A folder or a KernelBench file in `tasks`."""
    expect: Literal[Expectation.REJECTED, Expectation.NEUTRALISED, Expectation.TASK_REFUSED]
    statuses: tuple[Status, ...] = ()
    """Which of them a rejection may have."""
    tier: Literal[Tier.VERIFY, Tier.PROFILE] | None = None
    """Default: profile for what is to be neutralised, else verify."""
    device: Literal["cpu", "cuda"] = "cpu"


class Technique(Record):
    """One entry of the catalogue."""

    number: int = Field(ge=1, le=TECHNIQUES)
    title: str
    why: str
    """The defence."""
    candidates: tuple[CheatFile, ...] = Field(min_length=1)


class CheatIndex(Record):
    """The file `cheats.yaml`."""

    schema_version: Literal[1]
    techniques: tuple[Technique, ...]


class HonestFile(Record):
    """One honest file, in the folder `honest`."""

    file: str
    task: str


class HonestIndex(Record):
    """The file `honest.yaml`."""

    schema_version: Literal[1]
    candidates: tuple[HonestFile, ...]


class Entry(Record):
    """One candidate of the corpus with everything that is said about it."""

    id: str
    """The file's name without its suffix."""
    path: Path
    technique: int | None
    """None for an honest one."""
    title: str
    why: str
    task: str
    device: Literal["cpu", "cuda"]
    expect: Expectation
    statuses: tuple[Status, ...]
    tier: Tier

    def load(self) -> tuple[Task, Candidate]:
        """The task and the candidate, read from the package's own files."""
        path = CORPUS / "tasks" / self.task
        task = load_task(path if path.is_dir() else f"{KERNELBENCH_CPU_PREFIX}{path}.py")
        return task, load_candidate(self.path, None)


def load_corpus() -> tuple[Entry, ...]:
    """All entries: cheats by technique, then the honest ones.

    Raises:
        ConfigError: an index is wrong.
    """
    cheats = load_yaml(CORPUS / "cheats.yaml", CheatIndex)
    honest = load_yaml(CORPUS / "honest.yaml", HonestIndex)
    return (*_cheats(cheats), *_honest(honest))


def select(entries: Sequence[Entry], patterns: Sequence[str]) -> list[Entry]:
    """The entries that any of the patterns names: an id such as `27_*`, a technique's number, or `honest`.

    Raises:
        NotFoundError: a pattern names none.
    """
    chosen = {pattern: [entry for entry in entries if _matches(entry, pattern)] for pattern in patterns}
    for pattern, found in chosen.items():
        if not found:
            raise NotFoundError(
                f"nothing in the corpus is called {pattern!r}; give a technique's number (1..{TECHNIQUES}), a "
                "candidate's name such as 27_*, or honest"
            )
    return [entry for entry in entries if not patterns or any(entry in found for found in chosen.values())]


def _matches(entry: Entry, pattern: str) -> bool:
    if pattern.isdecimal():
        return entry.technique == int(pattern)
    return fnmatchcase(entry.id, pattern) or (pattern == Expectation.HONEST and entry.expect is Expectation.HONEST)


def _cheats(index: CheatIndex) -> Iterator[Entry]:
    for technique in index.techniques:
        for cheat in technique.candidates:
            timed = cheat.expect is Expectation.NEUTRALISED
            yield Entry(
                id=Path(cheat.file).stem,
                path=CORPUS / "cheats" / cheat.file,
                technique=technique.number,
                title=technique.title,
                why=technique.why,
                task=cheat.task,
                device=cheat.device,
                expect=cheat.expect,
                statuses=cheat.statuses,
                tier=cheat.tier or (Tier.PROFILE if timed else Tier.VERIFY),
            )


def _honest(index: HonestIndex) -> Iterator[Entry]:
    for candidate in index.candidates:
        yield Entry(
            id=Path(candidate.file).stem,
            path=CORPUS / "honest" / candidate.file,
            technique=None,
            title="honest",
            why="it does the whole work, every time",
            task=candidate.task,
            device="cpu",
            expect=Expectation.HONEST,
            statuses=(),
            tier=Tier.VERIFY,
        )
