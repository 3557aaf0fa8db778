"""`kernelguild audit`, as a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelguild.tools.judge.device import has_gpu
from test_cli import kernelguild

CHOSEN = ("20_broadcast", "46_exit_at_import", "12_vanishing", "warns", "04_*")
HAS_GPU = has_gpu()


def test_a_part_of_the_corpus_is_judged_in_a_home_of_its_own(tmp_path: Path) -> None:
    done = kernelguild("audit", *CHOSEN, cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row[1] for row in rows[1:5]] == ["04_gpu_memory_scan", "12_vanishing", "20_broadcast", "46_exit_at_import"]
    assert "4 cheats, 0 got through; 1 honest candidates, 0 failed; " in done.stdout
    assert "a rejection after compiling takes" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_scripts_read_the_outcomes_and_what_cannot_run_here_is_never_ok() -> None:
    done = kernelguild("audit", "--json", "04_*", "warns")
    report = json.loads(done.stdout)
    gpu, honest = report["outcomes"]
    assert (report["holds"], done.returncode) == (True, 0)
    assert (honest["candidate"], honest["state"], honest["seen"]) == ("warns", "ok", "passed")
    assert gpu["state"] == ("ok" if HAS_GPU else "unavailable")
    assert report["unavailable"] == (gpu["state"] == "unavailable")


@pytest.mark.skipif(HAS_GPU, reason="this host has a GPU, so that everything can be judged")
def test_where_nothing_can_be_judged_nothing_holds() -> None:
    done = kernelguild("audit", "04_*")
    assert done.returncode == 3
    assert "unavailable: " in done.stdout


def test_a_name_that_is_not_in_the_corpus_is_wrong_use() -> None:
    done = kernelguild("audit", "49")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing in the corpus is called '49'; give a technique's number (1..48)" in done.stderr
