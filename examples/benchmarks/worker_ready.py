"""How soon a confined worker is ready to be called, against a fresh interpreter that imports torch, side by side.

Run `python examples/benchmarks/worker_ready.py`; it prints one table. A worker is ready when it is confined and has
loaded its program; torch is imported in its zygote before. Limit: 25 ms, the median over all rounds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kernelguild.memory.schema import Constraints, Language
from kernelguild.tools.judge.bench import Bench, Program
from kernelguild.tools.judge.place import Host
from kernelguild.tools.judge.probe import probe

READY_LIMIT_MS = 25
SHARED_BYTES = 1 << 20
MODEL = "class ModelNew:\n    def __call__(self, x): return x\n"
Sample = tuple[float, float]
"""Milliseconds until ready, and until everything is gone again."""


def pytorch_worker(bench: Bench, target: Path) -> Sample:
    program = Program(Language.PYTORCH, target, "ModelNew", bench.new_scratch("torch"), Constraints())
    start_s = time.perf_counter()
    worker = bench.seat(program, Host(), SHARED_BYTES)
    ready_s = time.perf_counter()
    worker.close()
    return 1e3 * (ready_s - start_s), 1e3 * (time.perf_counter() - ready_s)


def native_worker(bench: Bench) -> Sample:
    start_s = time.perf_counter()
    worker = bench.empty_seat(Host(), SHARED_BYTES, cpu=None)
    ready_s = time.perf_counter()
    worker.close()
    return 1e3 * (ready_s - start_s), 1e3 * (time.perf_counter() - ready_s)


def fresh_interpreter() -> Sample:
    start_s = time.perf_counter()
    command = [sys.executable, "-c", "import torch; print('ready', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ready_s = time.perf_counter()
        process.kill()
        process.wait()
    return 1e3 * (ready_s - start_s), 1e3 * (time.perf_counter() - ready_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with Bench(probe()) as bench:
        target = bench.new_folder() / "candidate.py"
        target.write_text(MODEL, encoding="utf-8")
        sides: dict[str, Callable[[], Sample]] = {
            "confined worker, PyTorch": lambda: pytorch_worker(bench, target),
            "confined worker, native": lambda: native_worker(bench),
            "fresh interpreter with torch": fresh_interpreter,
        }
        for warm_up in sides.values():
            warm_up()
        samples = {name: [] for name in sides}  # type: dict[str, list[Sample]]
        for _ in range(rounds):
            for name, measure in sides.items():
                samples[name].append(measure())
    print(f"{'':30} {'ready p50':>10} {'p90':>8} {'gone p50':>10}   (ms, {rounds} rounds)")
    for name, taken in samples.items():
        ready, gone = zip(*taken, strict=True)
        ready_p90 = sorted(ready)[9 * len(ready) // 10]
        print(f"{name:30} {statistics.median(ready):10.1f} {ready_p90:8.1f} {statistics.median(gone):10.1f}")
    slowest = max(statistics.median(ready for ready, _ in samples[name]) for name in list(sides)[:2])
    print(f"limit {READY_LIMIT_MS} ms: {'met' if slowest <= READY_LIMIT_MS else 'missed'}")
    return 0 if slowest <= READY_LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
