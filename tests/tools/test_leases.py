"""Sharing a machine: real processes queue up for leases of one queue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernelguild.memory.errors import HarnessError
from kernelguild.tools.judge.bench import Bench
from kernelguild.tools.judge.device import site_of
from kernelguild.tools.judge.leases import FOLDER, PROCESSORS, compiling, lease, machine_folder
from kernelguild.tools.judge.probe import probe

HOLDER = """\
import sys
from kernelguild.tools.judge.leases import lease
with lease(sys.argv[1], sys.argv[2]):
    print("holding", flush=True)
    sys.stdin.read()
"""


class Holder:
    """A process that asks for a lease, and holds it until it is told to let go."""

    def __init__(self, queue: str, use: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", HOLDER, queue, use], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def wait_holding(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"holding\n"

    def let_go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


Hold = Callable[[str], Holder]


@pytest.fixture
def queue() -> Iterator[str]:
    name = f"test-{os.getpid()}"
    yield name
    (FOLDER / f"{name}.queue").unlink(missing_ok=True)


@pytest.fixture
def ask(queue: str) -> Iterator[Hold]:
    """Start a process that asks for a lease of a kind."""
    holders: list[Holder] = []

    def start(use: str) -> Holder:
        holders.append(Holder(queue, use))
        return holders[-1]

    yield start
    for holder in holders:
        holder.end()


def queued(queue: str, count: int) -> None:
    """Return once the kernel shows `count` processes that wait in the queue."""
    inode = (FOLDER / f"{queue}.queue").stat().st_ino
    while True:
        lines = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
        waiting = [line for line in lines if "->" in line and "OFDLCK" in line and f":{inode} " in line]
        if len(waiting) == count:
            return
        os.sched_yield()


def test_leases_are_given_in_the_order_in_which_they_were_asked_for(queue: str, ask: Hold) -> None:
    first = ask("exclusive")
    first.wait_holding()
    later = []
    for position in range(7):
        later.append(ask("exclusive"))
        queued(queue, position + 1)
    first.let_go()
    for position, holder in enumerate(later):
        holder.wait_holding()
        queued(queue, len(later) - 1 - position)
        holder.let_go()


def test_a_killed_holder_makes_way_for_the_next(queue: str, ask: Hold) -> None:
    first = ask("exclusive")
    first.wait_holding()
    second = ask("exclusive")
    queued(queue, 1)
    first.kill()
    second.wait_holding()


def test_one_that_is_killed_while_it_waits_holds_nobody_up(queue: str, ask: Hold) -> None:
    first = ask("exclusive")
    first.wait_holding()
    second = ask("exclusive")
    queued(queue, 1)
    third = ask("exclusive")
    queued(queue, 2)
    second.kill()
    first.let_go()
    third.wait_holding()


def test_eight_processes_work_at_once(ask: Hold) -> None:
    holders = [ask("shared") for _ in range(8)]
    for holder in holders:
        holder.wait_holding()


def test_a_timing_waits_for_the_compilers_before_it_and_holds_up_those_after_it(queue: str, ask: Hold) -> None:
    compilers = [ask("shared"), ask("shared")]
    for compiler in compilers:
        compiler.wait_holding()
    timing = ask("exclusive")
    queued(queue, 1)
    late = ask("shared")
    queued(queue, 2)
    compilers[0].let_go()
    queued(queue, 2)
    compilers[1].let_go()
    timing.wait_holding()
    queued(queue, 1)
    timing.let_go()
    late.wait_holding()


def test_a_stream_of_compilers_starves_no_timing_and_a_stream_of_timings_no_compiler(queue: str, ask: Hold) -> None:
    running = ask("shared")
    running.wait_holding()
    asked = []
    for position, use in enumerate(("exclusive", "shared", "exclusive", "shared")):
        asked.append(ask(use))
        queued(queue, position + 1)
    running.let_go()
    for position, holder in enumerate(asked):
        holder.wait_holding()
        queued(queue, len(asked) - 1 - position)
        holder.let_go()


def test_what_lies_in_place_of_a_queue_is_refused(queue: str, tmp_path: Path) -> None:
    path = machine_folder() / f"{queue}.queue"
    makers: list[Callable[[], None]] = [lambda: path.symlink_to(tmp_path), path.mkdir, lambda: os.mkfifo(path)]
    for make in makers:
        make()
        with pytest.raises(HarnessError, match="remove"), lease(queue, "shared"):
            pass
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core: compilers wait for timings")
def test_a_compiler_neither_waits_for_a_timing_nor_runs_on_its_core(tmp_path: Path) -> None:
    with (
        lease(PROCESSORS, "exclusive"),
        compiling(site_of("cpu").device),
        Bench(probe()) as bench,
        bench.execute(("/usr/bin/nproc",), bench.new_scratch(), 10, tmp_path / "none") as compiler,
    ):
        assert compiler.wait_end(10).exit_code == 0
        assert int(compiler.output(100)) == len(os.sched_getaffinity(0)) - 1
