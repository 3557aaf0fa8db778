"""Counters of a process on the CPU, or why this machine has none."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kernelguild.memory.schema import CpuProfile
from kernelguild.tools.judge.deep.cpu_counters import CpuCounters, why_refused

# Waits for a line, lets a new thread do all the work, and says when it is done.
PROGRAM = """
import sys, threading
def work():
    total = 0
    for at in range(3_000_000):
        total += at
print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def let_it_work(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def measured(process: subprocess.Popen[str]) -> CpuProfile:
    with CpuCounters.of(process.pid) as counters:
        counters.start()
        let_it_work(process)
        return counters.stop(wall_ms=1234.5)


def test_each_counter_is_a_figure_or_says_why_not(program: subprocess.Popen[str]) -> None:
    profile = measured(program)
    assert (profile.wall_ms.value, profile.wall_ms.source) == (1234.5, "the judge's clock")
    for figure in (profile.cpu_ms, profile.elapsed_cycles, profile.instructions, profile.cache_misses):
        assert figure.source
        assert figure.value is None or figure.value >= 0
    if profile.instructions.value is not None and profile.elapsed_cycles.value is not None:
        # Three million turns of a Python loop.
        assert profile.instructions.value > 3_000_000
        ratio = profile.instructions.value / profile.elapsed_cycles.value
        assert profile.instructions_per_cycle.value == pytest.approx(ratio)
    else:
        assert profile.instructions_per_cycle.kind == "unavailable"


def test_threads_that_start_meanwhile_are_counted(program: subprocess.Popen[str]) -> None:
    profile = measured(program)
    if profile.cpu_ms.value is None:
        assert "perf_event" in profile.cpu_ms.source
    else:
        # At least a nanosecond for each of three million turns of the loop.
        assert profile.cpu_ms.value > 3


def test_a_process_that_has_ended_has_no_counters() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with CpuCounters.of(process.pid) as counters:
        counters.start()
        profile = counters.stop(wall_ms=1.0)
    assert profile.elapsed_cycles.kind == "unavailable"
    assert profile.cpu_ms.kind == "unavailable"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.EACCES, "perf_event_paranoid is 4"),
        (errno.EPERM, "CAP_PERFMON"),
        (errno.ENOENT, "as in most virtual machines"),
        (errno.EOPNOTSUPP, "as in most virtual machines"),
        (errno.ESRCH, "the worker had ended"),
        (errno.ENOSYS, "has no perf_event_open"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_a_refusal_says_why_and_the_cure(error: int, why: str) -> None:
    refusal = why_refused("cycles", error, "4")
    assert why in refusal
    assert "cycles" in refusal
