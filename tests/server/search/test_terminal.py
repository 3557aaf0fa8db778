"""What a person at a terminal sees of a running search, and what a pipe gets."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from threading import Thread

import pytest
from scripted_search import ScriptedExecutor
from search_records import SMALL

from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import AgentSlots
from kernelguild.memory.store import open_store
from kernelguild.server.search.run import SearchRun
from kernelguild.server.search.terminal import LiveProgress, PlainProgress, Progress
from kernelguild.tools.evaluator import Evaluator

pytestmark = pytest.mark.anyio
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


async def search(home: Path, progress: Progress) -> None:
    """Four rounds: two programs are twice as fast as the seed, the others do not compile."""
    executor = ScriptedExecutor()

    async def first_two(source: str) -> float | None:
        return 0.5 if executor.asked.index(source) < 3 else None

    executor.answer = first_two
    async with open_store(home) as store:
        run = SearchRun(store, Evaluator(store, executor), SystemClock(), progress.on_event)
        await run.start(SMALL, (AgentSlots(agent="tuner", count=1),), 4, seed=0)


async def test_a_pipe_gets_a_line_an_outcome(tmp_path: Path) -> None:
    stream = io.StringIO()
    await search(tmp_path, PlainProgress(stream))
    lines = stream.getvalue().splitlines()
    assert re.fullmatch(r"search [0-9a-f]{32}: a_task, tuner:1, 4 rounds; the seed is judged", lines[0])
    assert [" ".join(line.split()[:5]) for line in lines[1:5]] == [
        "round 1/4 2.00x best 2.00x",
        "round 2/4 2.00x best 2.00x",
        "round 3/4 rejected best 2.00x",
        "round 4/4 rejected best 2.00x",
    ]
    assert lines[5] == "finished: all 4 rounds are done"
    assert lines[6].startswith("node 1 measured again on fresh inputs: ")
    assert "\x1b" not in stream.getvalue()


async def test_a_terminal_shows_the_tree_the_best_and_what_is_left(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    shown = bytearray()

    def read() -> None:
        while not shown.endswith(b"END"):
            shown.extend(os.read(ours, 4096))

    reader = Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        with LiveProgress(terminal) as progress:
            await search(tmp_path, progress)
        terminal.write("END")
        terminal.flush()
        reader.join()
    os.close(ours)
    text = ESCAPES.sub("", shown.decode())
    assert "a_task: seed 1.00x" in text
    assert re.search(r"── 1: 2\.00x \w+ 1 -> \d", text)
    assert re.search(r"── 4: rejected ", text)
    for left in (4, 2, 0):
        assert f"rounds left {left} of 4" in text
    assert "best 2.00x" in text
