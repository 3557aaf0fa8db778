"""How soon and how often the judge gives a verdict, side by side with what a verdict cannot do without.

Run `python examples/benchmarks/judge_speed.py`; it prints one table. All verdicts come from one running server over
stdio, each on text that it has never seen; the candidates are the examples and honest ones of the corpus. Beside them,
in the same rounds: bare g++ on the same text, and the same kernels as `ModelNew` files with `load_inline`, judged in
one process as KernelBench does it (`in_process.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_overhead import Server

from kernelguild.tools.audit.corpus import CORPUS
from kernelguild.tools.judge.build.cpp import compile_command

EXAMPLES = Path(__file__).parents[1]
FIRST_LIMIT_S = 1.0
REJECT_LIMIT_S = 0.060
REPEAT_LIMIT_S = 0.005
TIMES_LIMIT = 10
SOFTMAX_PROBLEM = """\
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

def get_inputs():
    return [torch.randn({rows}, {cols})]

def get_init_inputs():
    return []
"""
WRAPPER = """\
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
{source}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    {entry}(x.data_ptr<float>(), y.data_ptr<float>(){symbols});
    return y;
}}
'''
module = load_inline("{name}", cpp_sources=SOURCE, functions=["run"], extra_cflags=["-O3", "-march=native"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
"""


@dataclass(frozen=True)
class Kernel:
    """A right C++ candidate, how to make it wrong, and what KernelBench would be given."""

    source: Path
    task: str
    problem: str
    """The text of a KernelBench problem of the same shape."""
    entry: str
    declaration: str
    mistake: tuple[str, str]
    """Text of the source and what to write there instead."""
    symbols: str = ""
    """What the entry takes after the tensors."""

    @property
    def name(self) -> str:
        return f"{self.source.parent.name}/{self.source.name}"

    def right(self) -> str:
        """The source as nobody has seen it."""
        return f"{self.source.read_text(encoding='utf-8')}\n// {time.time_ns()}\n"

    def wrong(self) -> str:
        before, after = self.mistake
        text = self.right()
        assert before in text
        return text.replace(before, after)

    def wrapped(self) -> str:
        """The same kernel as a `ModelNew` file that was never built."""
        return WRAPPER.format(
            source=self.right(), entry=self.entry, symbols=self.symbols, name=f"built_{time.time_ns()}"
        )


def _softmax(source: Path, task: Path, rows: int, cols: int, mistake: tuple[str, str]) -> Kernel:
    problem = SOFTMAX_PROBLEM.format(rows=rows, cols=cols)
    return Kernel(source, str(task), problem, "softmax", SOFTMAX, mistake, ", x.size(0), x.size(1)")


SOFTMAX = 'extern "C" int softmax(const float* x, float* y, int64_t rows, int64_t cols);'
SWISH = EXAMPLES / "swish_kernelbench"
SWISH_TASK = f"kernelbench:{SWISH / 'problem.py'}"
HONEST, HONEST_TASK = CORPUS / "honest", CORPUS / "tasks" / "softmax"
KERNELS = (
    _softmax(
        EXAMPLES / "softmax_cpp" / "seed.cpp", EXAMPLES / "softmax_cpp", 128, 1024, ("[i] / sum", "[i] / sum * 1.01f")
    ),
    Kernel(
        SWISH / "swish.cpp",
        SWISH_TASK,
        (SWISH / "problem.py").read_text(encoding="utf-8"),
        "forward",
        'extern "C" int forward(const float* x, float* y);',
        ("1.0f + exp_approx", "1.01f + exp_approx"),
    ),
    _softmax(HONEST / "polynomial_exp.cpp", HONEST_TASK, 64, 512, ("/= sum", "/= sum * 1.01f")),
    _softmax(HONEST / "online_softmax.cpp", HONEST_TASK, 64, 512, ("/ sum;", "/ sum * 1.01f;")),
)


class Judge:
    """The running server; every question's answer must have the expected status."""

    def __init__(self, home: str) -> None:
        self._server = Server([sys.executable, "-P", "-m", "kernelguild.server.cli", "serve", "--home", home])

    def ask(self, tool: str, status: str, **arguments: Any) -> float:
        """Seconds until the verdict."""
        start_s = time.perf_counter()
        facts = self._call(tool, arguments)
        while "job_id" in facts:
            facts = self._call("job", {"action": "result", "job_id": facts["job_id"], "wait_s": 55})
        assert facts["status"] == status, facts
        return time.perf_counter() - start_s

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._server.ask("tools/call", {"name": tool, "arguments": arguments})
        facts: dict[str, Any] = answer["result"]["structuredContent"]
        return facts

    def close(self) -> None:
        self._server.close()


class InOneProcess:
    """KernelBench's way, in a process that has imported torch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("in_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "extensions"), "OMP_NUM_THREADS": "1"},
        )
        self._read()

    def judge(self, kernel: Kernel) -> float:
        """Seconds from source to verdict."""
        files = {"problem": self._folder / "problem.py", "candidate": self._folder / "candidate.py"}
        files["problem"].write_text(kernel.problem, encoding="utf-8")
        files["candidate"].write_text(kernel.wrapped(), encoding="utf-8")
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({name: str(path) for name, path in files.items()}) + "\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process of KernelBench's way has ended"
        return line


def bare_compiler(kernel: Kernel, folder: Path) -> float:
    """Seconds that g++ takes for the same text, unconfined."""
    (folder / "candidate.cpp").write_text(kernel.right(), encoding="utf-8")
    (folder / "entry.h").write_text(f"#include <stdint.h>\n{kernel.declaration}\n", encoding="utf-8")
    start_s = time.perf_counter()
    subprocess.run(compile_command(kernel.entry, (), "candidate.cpp"), cwd=folder, check=True)
    return time.perf_counter() - start_s


@dataclass
class Samples:
    """Seconds by figure; all kernels together."""

    first: list[float] = field(default_factory=list)
    compiler: list[float] = field(default_factory=list)
    reject: list[float] = field(default_factory=list)
    repeat: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    their_cold: list[float] = field(default_factory=list)


def measure_native(judge: Judge, kernel: Kernel, folder: Path, seen: Samples) -> None:
    """One round of a kernel: new, again, and wrong."""
    seen.compiler.append(bare_compiler(kernel, folder))
    right = {"task": kernel.task, "source": kernel.right(), "language": "cpp"}
    seen.first.append(judge.ask("profile", "passed", **right))
    seen.repeat.append(judge.ask("profile", "passed", **right))
    wrong = {"task": kernel.task, "source": kernel.wrong(), "language": "cpp"}
    judge.ask("compile", "passed", **wrong)
    seen.reject.append(judge.ask("profile", "incorrect_values", **wrong))


def measure_extension(judge: Judge, other: InOneProcess, seen: Samples) -> None:
    """One `ModelNew` file with `load_inline`, never built before, and judged again once it was."""
    kernel = KERNELS[1]
    source = kernel.wrapped()
    seen.their_cold.append(other.judge(kernel))
    ask: Callable[..., float] = judge.ask
    given = {"task": kernel.task, "source": source, "language": "pytorch", "wait_s": 55}
    seen.cold.append(ask("profile", "passed", **given))
    seen.warm.append(ask("profile", "passed", **given, fresh=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="verdicts of each kernel")
    parser.add_argument("--theirs", type=int, default=1, help="verdicts of each kernel in KernelBench's way")
    parser.add_argument("--extensions", type=int, default=1, help="ModelNew files with load_inline")
    given = parser.parse_args()
    seen, load_before = Samples(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        judge, other = Judge(home), InOneProcess(Path(home))
        for kernel in KERNELS:  # starts processes, measures the machine, compiles baselines
            measure_native(judge, kernel, Path(home), Samples())
        for number in range(given.rounds):
            for kernel in KERNELS:
                measure_native(judge, kernel, Path(home), seen)
                if number < given.theirs:
                    seen.theirs.append(other.judge(kernel))
        for _ in range(given.extensions):
            measure_extension(judge, other, seen)
        judge.close()
        other.close()
    return report(seen, load_before)


def report(seen: Samples, load_before: float) -> int:
    """Print the table; 1 where a target is missed."""
    print(f"{'':46} {'target':>9} {'ours':>9} {'p90':>9} {'beside':>9} {'ratio':>6}")
    middle = statistics.median
    met = [
        line("first verdict, s (beside: bare g++)", FIRST_LIMIT_S, seen.first, middle(seen.compiler)),
        line("reject once compiled, s", REJECT_LIMIT_S, seen.reject, None),
        line("repeat, s", REPEAT_LIMIT_S, seen.repeat, None),
    ]
    if seen.theirs:
        ours, theirs = (60 / statistics.fmean(seconds) for seconds in (seen.first, seen.theirs))
        met.append(ours >= TIMES_LIMIT * theirs)
        print(f"{'verdicts a minute (beside: in one process)':46} {TIMES_LIMIT:7} x {ours:9.1f} {'':9} {theirs:9.2f} "
              f"{ours / theirs:6.1f}")  # fmt: skip
    if seen.cold:
        theirs = middle(seen.their_cold)
        met.append(line("ModelNew, load_inline, cold, s (the same)", theirs, seen.cold, theirs))
        line("ModelNew, load_inline, warm, s (the same)", None, seen.warm, theirs)
    kernels = ", ".join(kernel.name for kernel in KERNELS)
    print(f"medians of {len(seen.first)} verdicts on {kernels}; {os.cpu_count()} cores, load average "
          f"{load_before:.1f} before and {os.getloadavg()[0]:.1f} after")  # fmt: skip
    return int(not all(met))


def line(name: str, limit: float | None, seconds: list[float], beside: float | None) -> bool:
    """Print one line; whether its median is within the limit."""
    ours = statistics.median(seconds)
    p90 = sorted(seconds)[9 * len(seconds) // 10]
    target = "" if limit is None else f"{limit:.3g}"
    other, ratio = ("", "") if beside is None else (f"{beside:.3f}", f"{ours / beside:.2f}")
    print(f"{name:46} {target:>9} {ours:9.4f} {p90:9.4f} {other:>9} {ratio:>6}")
    return limit is None or ours <= limit


if __name__ == "__main__":
    sys.exit(main())
