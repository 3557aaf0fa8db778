"""What a `load_inline` candidate costs: torch's own way in a fresh process against the judge's, side by side.

Run `python examples/benchmarks/load_inline.py` (six builds, about four minutes); torch's side needs ninja on PATH.
Each line is one candidate text; "first verdict" is the judge's whole compile tier, warm zygotes, nothing kept before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kernelguild.memory.clock import SystemClock
from kernelguild.memory.schema import Candidate, Language, Status, Task, Tier
from kernelguild.tools.judge.bench import Bench
from kernelguild.tools.judge.judge import Judge
from kernelguild.tools.judge.probe import probe
from kernelguild.tools.judge.request import EvaluationRequest
from kernelguild.tools.tasks import load_task

FOLDER = Path(__file__).parents[1] / "swish_kernelbench"
SOURCE = (FOLDER / "model_new_inline.py").read_text(encoding="utf-8")
BUILDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--builds", type=int, default=BUILDS, help="different texts through the judge, one after another"
    )
    builds = parser.parse_args().builds
    task = load_task(f"kernelbench:{FOLDER / 'problem.py'}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"torch, fresh process, cold          {theirs_s(Path(folder)):6.1f} s")
        print(f"torch, fresh process, again         {theirs_s(Path(folder)):6.1f} s")
        with Bench(probe()) as bench:
            judge = Judge(bench, SystemClock(), Path(folder))
            verdict_s(judge, task, "import torch.nn\nclass ModelNew(torch.nn.Module):\n    pass\n")
            for number in range(builds):
                text = SOURCE.replace("1.0f +", f"{number + 1}.0f - {number}.0f +")
                print(f"judge, text {number + 1}, first verdict        {verdict_s(judge, task, text):6.1f} s")
            print(f"judge, the last text again          {verdict_s(judge, task, text):6.1f} s")
        with Bench(probe()) as bench:
            judge = Judge(bench, SystemClock(), Path(folder))
            verdict_s(judge, task, "import torch.nn\nclass ModelNew(torch.nn.Module):\n    pass\n")
            print(f"another judge, the last text        {verdict_s(judge, task, text):6.1f} s")


def theirs_s(folder: Path) -> float:
    """Importing torch and the candidate in a process of its own, as a KernelBench harness does."""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "torch")}
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", SOURCE], env=environment, check=True)
    return time.monotonic() - start


def verdict_s(judge: Judge, task: Task, source: str) -> float:
    """One compile verdict."""
    request = EvaluationRequest(
        task=task, candidate=Candidate(language=Language.PYTORCH, source=source), tier=Tier.COMPILE
    )
    start = time.monotonic()
    evaluation = judge.evaluate(request, lambda progress: None).evaluation
    assert evaluation.status is Status.PASSED, evaluation.message
    return time.monotonic() - start


if __name__ == "__main__":
    main()
