"""`kernelguild search` in real processes over the real judge: killed, interrupted, doubled, resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types
import pytest
from search_records import EXAMPLES

from browser import render
from kernelguild.memory.schema import LeaseStatus, SearchStatus
from kernelguild.memory.search_state import SearchState
from kernelguild.memory.store import open_store

pytestmark = pytest.mark.anyio
SOFTMAX = str(EXAMPLES / "softmax_cpp" / "task.yaml")
BOUND_S = 240.0
"""For a whole search on a busy machine."""

TASK = """\
schema_version: 1
name: affine
reference: {file: reference.py, function: affine}
seed_implementation: {file: seed.cpp, language: cpp}
entry: affine
symbols: {n: {min: 1, max: 100000}}
inputs: [{name: x, dtype: float32, shape: [n]}]
outputs: [{name: y, dtype: float32, shape: [n]}]
shapes: [{n: 65536}]
template:
  file: template.cpp
  language: cpp
  strategies:
    - strategy: small_unroll
      prior: 1
      parameters: [{name: unroll, values: [1, 2, 4, 8], default: 1}]
    - strategy: staged_reuse
      prior: 1
      parameters: [{name: block, values: [1, 64, 256, 1024], default: 1}]
"""
FILES = {
    "task.yaml": TASK,
    "reference.py": "def affine(x):\n    return 2 * x + 1\n",
    "seed.cpp": """\
#include <cstdint>
extern "C" int affine(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
    return 0;
}
""",
    "template.cpp": """\
#include <cstdint>
extern "C" int affine(const float* x, float* y, int64_t n) {
    for (int64_t first = 0; first < n; first += {{ block }}) {
        int64_t end = first + {{ block }} < n ? first + {{ block }} : n;
#pragma GCC unroll {{ unroll }}
        for (int64_t i = first; i < end; ++i) y[i] = 2 * x[i] + 1;
    }
    return 0;
}
""",
}


@pytest.fixture
def affine(tmp_path: Path) -> Path:
    """A small task, every program of whose template is right."""
    folder = tmp_path / "affine"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "task.yaml"


def command(*arguments: str | Path, home: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "kernelguild.server.cli", *map(str, arguments), "--home", str(home)]


def kernelguild(*arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    return subprocess.run(command(*arguments, home=home), capture_output=True, text=True, timeout=BOUND_S, check=False)


class Searching:
    """A search that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said = ""

    def wait_for(self, words: str) -> None:
        """Read its progress up to the line that begins with these words; an event is in the log before its line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if line.startswith(words):
                return
        raise AssertionError(f"the search ended before it said {words!r}:\n{self.said}")

    def end(self) -> int:
        """Read the rest; the exit code."""
        assert self.process.stderr is not None
        self.said += self.process.stderr.read()
        return self.process.wait()


@contextmanager
def searching(*arguments: str | Path, home: Path) -> Iterator[Searching]:
    """A search in the background, which is killed after the bound and at the end."""
    process = subprocess.Popen(
        command("search", *arguments, home=home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(BOUND_S, process.kill)
    watchdog.start()
    try:
        with process:
            try:
                yield Searching(process)
            finally:
                process.kill()
    finally:
        watchdog.cancel()
        watchdog.join()


async def stored(home: Path) -> SearchState:
    """The fold of the only search's log."""
    async with open_store(home) as store:
        (search_id,) = await store.events.search_ids()
        return SearchState.of(await store.events.read(search_id))


def assert_counted_once(state: SearchState, rounds: int) -> None:
    """Exactly so many rounds, each of a program of its own, and nothing under way."""
    assert (state.status, state.rounds_done) == (SearchStatus.FINISHED, rounds)
    assert len({node.candidate_id for node in state.nodes.values()}) == len(state.nodes) == rounds + 1
    assert LeaseStatus.OPEN not in {lease.status for lease in state.leases.values()}
    assert not any(edge.in_flight or state.in_flight(edge.id) for edge in state.edges.values())


async def test_a_search_that_is_killed_goes_on_to_its_last_round_and_its_report(affine: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with searching(affine, "--agents", "tuner:2", "--rounds", "6", home=home) as search:
        search.wait_for("round 1/6")
        second = kernelguild("search", "--resume", "latest", home=home)
        assert second.returncode == 2
        assert f"is being run by process {search.process.pid}; stop that one first" in second.stderr
        judges = psutil.Process(search.process.pid).children(recursive=True)
        assert judges
        search.process.kill()
        search.process.wait()
    assert psutil.wait_procs(judges, timeout=20)[1] == []
    killed = await stored(home)
    assert killed.status is SearchStatus.RUNNING
    assert 1 <= killed.rounds_done < 6

    resumed = kernelguild("search", "--resume", "latest", "--json", home=home)
    assert resumed.returncode == 0, resumed.stderr
    state = await stored(home)
    assert_counted_once(state, 6)
    # What was judged before the kill is still there, node for node.
    assert [state.nodes[node] for node in killed.nodes] == list(killed.nodes.values())

    facts = json.loads(resumed.stdout)
    assert (facts["search_id"], facts["status"], facts["rounds_done"]) == (state.search.id, "finished", 6)
    assert facts["best"]["confirmed"] is True
    assert kernelguild("compile", facts["best_path"], "--task", affine, home=home).returncode == 0
    page = render(Path(facts["report_path"]), tmp_path / "report.png")
    assert page.console_errors == ()
    assert "affine" in page.text


async def test_an_interrupted_search_stops_in_order_and_goes_on(affine: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    begin = (affine, "--agents", "tuner:1", "--rounds", "1")
    go_on = ("--resume", "latest")
    for arguments, number in ((begin, signal.SIGINT), (go_on, signal.SIGTERM)):
        with searching(*arguments, home=home) as search:
            search.wait_for("search ")
            judges = psutil.Process(search.process.pid).children(recursive=True)
            search.process.send_signal(number)
            assert search.end() == 3
            named = "latest" if arguments is go_on else (await stored(home)).search.id
            assert search.said.endswith(f"interrupted; go on with: kernelguild search --resume {named}\n")
        assert psutil.wait_procs(judges, timeout=20)[1] == []
        state = await stored(home)
        assert (state.status, state.rounds_done) == (SearchStatus.STOPPED, 0)

    resumed = kernelguild("search", *go_on, home=home)
    assert resumed.returncode == 0, resumed.stderr
    assert_counted_once(await stored(home), 1)
    best = next(line for line in resumed.stdout.splitlines() if line.startswith("best kernel"))
    assert kernelguild("compile", best.split()[-1], "--task", affine, home=home).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((SOFTMAX, "--agents", "tunr:2"), "no agent is called 'tunr' (did you mean tuner? known: tuner, random)"),
        ((SOFTMAX, "--rounds", "0"), "'0' is not a whole number from 1 up"),
        ((SOFTMAX, "--round", "4"), "did you mean --rounds?"),
        ((), "give a TASK to start a search, or --resume ID to go on with one"),
        ((SOFTMAX, "--resume", "latest"), "give a TASK to start a search, or --resume ID to go on with one"),
        (("--resume", "latest"), "no search is stored in"),
        (("--resume", "latest", "--agents", "random"), "keeps the agents and the seed"),
        (("--resume", "latest", "--seed", "3"), "keeps the agents and the seed"),
        (("no_such_task",), "no_such_task"),
    ],
)
def test_wrong_use_is_named_before_anything_is_judged(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = kernelguild("search", *arguments, home=tmp_path / "home")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
