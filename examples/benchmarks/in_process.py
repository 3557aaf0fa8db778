"""Judging as KernelBench does it: candidate, reference, comparison and clock in one process.

`judge_speed.py` starts it once; each line of its standard input is a JSON object with a `problem` file and a
`candidate` file in KernelBench's form, each answer on standard output the seconds from source to verdict. The figures
of KernelBench's harness: five correctness trials with `allclose`, three warm-ups, one hundred timed calls on the same
inputs; on a processor the clock is `perf_counter`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

CORRECTNESS_TRIALS = 5
WARM_UPS = 3
TIMED_CALLS = 100
TOLERANCE = 1e-4
SEED = 42


def execute(path: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def judge(problem: Path, candidate: Path) -> float:
    """Seconds of one call, on average.

    Raises:
        AssertionError: an output is wrong.
    """
    reference, given = execute(problem), execute(candidate)
    model, model_new = (names[kind](*reference["get_init_inputs"]()) for names, kind in
                        ((reference, "Model"), (given, "ModelNew")))  # fmt: skip
    with torch.no_grad():
        for trial in range(CORRECTNESS_TRIALS):
            torch.manual_seed(SEED + trial)
            inputs = reference["get_inputs"]()
            expected, output = model(*inputs), model_new(*inputs)
            assert output.shape == expected.shape
            assert torch.allclose(output, expected, atol=TOLERANCE, rtol=TOLERANCE)
        inputs = reference["get_inputs"]()
        for _ in range(WARM_UPS):
            model_new(*inputs)
        times_s = []
        for _ in range(TIMED_CALLS):
            start_s = time.perf_counter()
            model_new(*inputs)
            times_s.append(time.perf_counter() - start_s)
    return sum(times_s) / len(times_s)


def main() -> None:
    torch.set_num_threads(1)
    # Candidates and their builds may print; the answers keep the real standard output.
    answers, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        files = json.loads(line)
        start_s = time.perf_counter()
        judge(Path(files["problem"]), Path(files["candidate"]))
        print(time.perf_counter() - start_s, file=answers, flush=True)


if __name__ == "__main__":
    main()
