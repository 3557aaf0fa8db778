"""A small task (y = 2 x + 1) and candidates for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernelguild.memory.schema import Candidate, Evaluation, Language

TASK = """\
schema_version: 1
name: affine
reference: {file: reference.py, function: affine}
seed_implementation: {file: seed.cpp, language: cpp}
entry: affine
symbols: {n: {min: 1, max: 100000}}
inputs: [{name: x, dtype: float32, shape: [n]}]
outputs: [{name: y, dtype: float32, shape: [n]}]
shapes: [{n: 4096}]
constraints: {call_timeout_s: 2, compile_timeout_s: 20, setup_timeout_s: 10, memory_bytes: 536870912}
"""
REFERENCE = "def affine(x):\n    return 2 * x + 1\n"
SEED = """\
#include <cstdint>
extern "C" int affine(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
    return 0;
}
"""
BODY = '#include <cstdint>\n%s\nextern "C" int affine(const float* x, float* y, int64_t n) {\n%s\n    return 0;\n}\n'
RIGHT = "    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;"

Judgement = Callable[..., Evaluation]


def write_task(folder: Path, task: str = TASK) -> Path:
    """The affine task in a folder; returns the path of its task.yaml."""
    (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    (folder / "seed.cpp").write_text(SEED, encoding="utf-8")
    path = folder / "task.yaml"
    path.write_text(task, encoding="utf-8")
    return path


def cpp(body: str, preamble: str = "") -> Candidate:
    """A C++ candidate of the affine task from the body of its entry."""
    return Candidate(language=Language.CPP, source=BODY % (preamble, body))


def pytorch(source: str) -> Candidate:
    return Candidate(language=Language.PYTORCH, source=source)
