"""The shipped corpus against the real judge: no cheat passes, no honest candidate fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelguild.memory.errors import ConfigError, NotFoundError
from kernelguild.memory.schema import Tier
from kernelguild.tools.audit.corpus import CORPUS, TECHNIQUES, Entry, Expectation, load_corpus, select
from kernelguild.tools.audit.outcome import is_expected
from kernelguild.tools.judge.device import site_of
from kernelguild.tools.judge.judge import Judge
from kernelguild.tools.judge.request import EvaluationRequest

ENTRIES = load_corpus()
NO_GPU = site_of("cuda").why_no_gpu
HERE = [
    pytest.param(
        entry, id=entry.id, marks=[pytest.mark.skipif(entry.device == "cuda" and bool(NO_GPU), reason=NO_GPU or "none")]
    )
    for entry in ENTRIES
]


@pytest.mark.parametrize("entry", HERE)
def test_the_judge_makes_of_it_what_it_must(judge: Judge, entry: Entry) -> None:
    task, candidate = entry.load()
    request = EvaluationRequest(task=task, candidate=candidate, tier=entry.tier)
    if entry.expect is Expectation.TASK_REFUSED:
        with pytest.raises(ConfigError, match=f"task {task.name}: .* passe?s?"):
            judge.evaluate(request, lambda progress: None)
        return
    evaluation = judge.evaluate(request, lambda progress: None).evaluation
    assert is_expected(entry, evaluation), (evaluation.status, evaluation.verdict, evaluation.message)


def test_every_technique_of_the_catalogue_is_tried() -> None:
    numbers = [entry.technique for entry in ENTRIES if entry.technique is not None]
    assert sorted(set(numbers)) == list(range(1, TECHNIQUES + 1))
    assert sum(entry.expect is Expectation.HONEST for entry in ENTRIES) >= 20


def test_every_file_of_the_corpus_is_named_once_and_says_what_it_does() -> None:
    paths = [entry.path for entry in ENTRIES]
    files = [path for name in ("cheats", "honest") for path in (CORPUS / name).iterdir() if path.is_file()]
    assert sorted(paths) == sorted(files)
    for path in files:
        assert path.read_text(encoding="utf-8").startswith(("// ", '"""')), path.name


def test_a_rejection_names_its_statuses_and_only_a_rejection_does() -> None:
    for entry in ENTRIES:
        assert bool(entry.statuses) == (entry.expect is Expectation.REJECTED), entry.id
        assert entry.tier is Tier.PROFILE or entry.expect is not Expectation.NEUTRALISED


def test_a_part_is_chosen_by_number_by_name_or_by_being_honest() -> None:
    assert {entry.technique for entry in select(ENTRIES, ["27", "48_hang"])} == {27, 48}
    assert {entry.expect for entry in select(ENTRIES, ["honest"])} == {Expectation.HONEST}
    assert select(ENTRIES, []) == list(ENTRIES)
    with pytest.raises(NotFoundError, match="nothing in the corpus is called '49'"):
        select(ENTRIES, ["1", "49"])


def test_a_cheat_leaves_nothing_on_the_machine(judge: Judge) -> None:
    entry = next(entry for entry in ENTRIES if entry.id == "33_cache_on_disk")
    task, candidate = entry.load()
    judge.evaluate(EvaluationRequest(task=task, candidate=candidate, tier=Tier.VERIFY), lambda progress: None)
    folders = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path.home() / ".cache")
    left = [path for folder in folders if os.access(folder, os.R_OK) for path in folder.glob("answer-*.pt")]
    assert left == []
