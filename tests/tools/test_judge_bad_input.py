"""What exhausts, kills or starves the judge: it answers with a status, goes on, and blames whom it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp, pytorch, write_task
from kernelguild.memory.errors import HarnessError
from kernelguild.memory.schema import Status, Task, Tier
from kernelguild.tools.judge.access import Access, Limits
from kernelguild.tools.judge.arena import Arena
from kernelguild.tools.judge.environment import child_environment
from kernelguild.tools.judge.host_memory import HostMemory
from kernelguild.tools.judge.namespaces import other_user
from kernelguild.tools.judge.probe import probe
from kernelguild.tools.judge.sandbox import Confinement
from kernelguild.tools.judge.worker import Zygote
from kernelguild.tools.judge.worker_spec import WorkerSpec
from processes import children, command_line, descendants, ended_within, name, watch

BOUND_S = 120
END_S = 10

FILL = """
import itertools
for number in itertools.count():
    with open(f"{number}", "wb") as file:
        file.write(bytes(%s))
"""


@pytest.mark.parametrize("size", ["48 << 20", "0"], ids=["with bytes", "with names"])
def test_a_candidate_that_fills_the_disk_fills_its_own_alone(evaluate: Judgement, size: str) -> None:
    evaluation = evaluate(pytorch(FILL % size + "class ModelNew: pass\n"))
    assert evaluation.status is Status.RESOURCE_LIMIT, evaluation.message
    assert "disk space" in evaluation.message


@pytest.mark.parametrize(
    "bomb",
    [
        '__asm__(".section .rodata\\n.space 1 << 30, 7");',
        '__asm__(".rept 1 << 30\\n.byte 7\\n.endr");',
    ],
    ids=["disk", "memory"],
)
def test_a_source_that_exhausts_the_compiler_hits_its_limit(evaluate: Judgement, affine: Task, bomb: str) -> None:
    evaluation = evaluate(cpp(RIGHT, bomb), Tier.COMPILE)
    assert evaluation.status is Status.RESOURCE_LIMIT, evaluation.message
    assert evaluate(cpp(RIGHT)).status is Status.PASSED


def test_processes_that_are_small_alone_and_large_together_are_killed(tmp_path: Path) -> None:
    """Seen at the sandbox itself: the only programs that may start processes are compilers, and none does this."""
    hogs = "import os, time; os.fork(); os.fork(); hog = b'x' * (100 << 20); time.sleep(60)"
    limits = Limits(memory_bytes=300 << 20, file_bytes=1 << 20, tasks=8, cpu_s=60, may_fork=True)
    access = Access(("/usr", "/lib", "/lib64", sys.prefix, sys.base_prefix), ("/dev/null",))
    confinement = Confinement(access, limits, str(tmp_path), probe().layers, other_user())
    spec = WorkerSpec("exec", confinement, arguments=(sys.executable, "-c", hogs))
    zygote = Zygote("native", child_environment(os.environ), confinement.layers)
    with Arena(HostMemory(4096)) as arena, zygote.spawn(spec, arena.descriptor) as worker:
        assert worker.wait_end(END_S).signal == signal.SIGKILL
    zygote.close()


UNOWNED_MEMORY = {
    "a file in memory": 'syscall(SYS_memfd_create, "hog", 0)',
    "a System V segment": "shmget(IPC_PRIVATE, 1 << 30, IPC_CREAT | 0600)",
    "a message queue": "msgget(IPC_PRIVATE, IPC_CREAT | 0600)",
}


@pytest.mark.parametrize("attempt", UNOWNED_MEMORY.values(), ids=UNOWNED_MEMORY)
def test_memory_that_no_limit_counts_is_refused(evaluate: Judgement, attempt: str) -> None:
    headers = ("unistd.h", "sys/syscall.h", "sys/ipc.h", "sys/shm.h", "sys/msg.h")
    preamble = "\n".join(f"#include <{header}>" for header in headers)
    evaluation = evaluate(cpp(f"    if ({attempt} >= 0) return 99;\n{RIGHT}", preamble))
    assert evaluation.status is Status.PASSED, evaluation.message


def zygotes() -> list[int]:
    return [process for process in children(os.getpid()) if "judge.zygote" in command_line(process)]


def test_a_zygote_that_was_killed_is_replaced(evaluate: Judgement) -> None:
    assert evaluate(cpp(RIGHT)).status is Status.PASSED
    killed = zygotes()
    for process in killed:
        os.kill(process, signal.SIGKILL)
    assert evaluate(cpp(RIGHT)).status is Status.PASSED
    assert killed
    assert not set(zygotes()) & set(killed)


def test_a_zygote_that_dies_under_a_candidate_is_not_the_candidates_fault(evaluate: Judgement, affine: Task) -> None:
    constraints = affine.constraints.model_copy(update={"call_timeout_s": 60.0})
    patient = affine.model_copy(update={"constraints": constraints})
    preamble = "#include <sys/prctl.h>\n#include <unistd.h>"
    body = '    prctl(PR_SET_NAME, "kg-pausing"); for (;;) pause();'

    def kill() -> None:
        while not any(name(process) == "kg-pausing" for process in descendants(os.getpid())):
            pass
        for process in zygotes():
            os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(HarnessError, match="killed with its zygote"):
        evaluate(cpp(body, preamble), Tier.VERIFY, patient)
    killer.join()
    assert evaluate(cpp(RIGHT)).status is Status.PASSED


ENDLESS = "template <int N, int M> struct T { enum { v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v }; };\n"
ENDLESS += "template <int M> struct T<0, M> { enum { v = 1 }; };\nint all = T<60, 0>::v;"
LOADING = "#include <sys/prctl.h>\n#include <unistd.h>\n"
LOADING += 'static int stuck = [] { prctl(PR_SET_NAME, "kg-loading"); for (;;) pause(); return 1; }();'
CALLED = '    prctl(PR_SET_NAME, "kg-called"); for (;;) pause();'
PHASES = {
    "compiling": (cpp(RIGHT, ENDLESS), "cc1plus"),
    "loading": (cpp(RIGHT, LOADING), "kg-loading"),
    "calling": (cpp(CALLED, "#include <sys/prctl.h>\n#include <unistd.h>"), "kg-called"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_nothing_outlives_a_judge_that_is_killed(tmp_path: Path, phase: str) -> None:
    candidate, sign = PHASES[phase]
    task = write_task(tmp_path)
    source = tmp_path / "candidate.cpp"
    source.write_text(candidate.source, encoding="utf-8")
    command = [sys.executable, "-P", "-m", "kernelguild.server.cli", "verify", str(source), "--task", str(task)]
    with subprocess.Popen(
        [*command, "--home", str(tmp_path / "home")], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        while not any(name(process) == sign for process in descendants(running.pid)):
            assert running.poll() is None
        everything = watch(descendants(running.pid))
        judge = next(process for process in descendants(running.pid) if "judge.main" in command_line(process))
        os.kill(judge, signal.SIGKILL)
        assert ended_within(everything, END_S)
        _, errors = running.communicate(timeout=BOUND_S)
    assert running.returncode == 3
    assert "the judge process died" in errors
    for pidfd in everything:
        os.close(pidfd)


def test_a_full_disk_is_not_the_candidates_fault(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    program = f"{sys.executable} -P -m kernelguild.server.cli"
    verify = f"{program} verify {tmp_path}/seed.cpp --task {task} --home {tmp_path}/home"
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
    set -eu
    mount -t tmpfs -o size=64k tmpfs {disk}
    export TMPDIR={disk}
    head -c 60k /dev/zero > {disk}/filling
    {verify} && exit 9 || echo "refused: $?"
    mount -o remount,size=1m {disk}
    rm {disk}/filling
    {verify}
    """
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(inside, capture_output=True, text=True, timeout=BOUND_S, check=False)
    assert "refused: 3" in done.stdout
    assert "No space left on device" in done.stderr
    assert "set TMPDIR to another folder" in done.stderr
    assert done.returncode == 0, done.stderr
