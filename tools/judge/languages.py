"""The table of languages: what a candidate of each is built with, and which worker runs it where."""

from __future__ import annotations

from dataclasses import dataclass

from ...memory.schema import DeviceKind, Language
from .worker_spec import Kind, Preload

CXX = "g++"
BASE_COMPILER_FLAGS = ("-std=c++20", "-O3", "-march=native", "-fPIC", "-shared")
ALLOWED_COMPILER_FLAGS = frozenset(
    {
        "-O2", "-Ofast", "-ffast-math", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros",
        "-fassociative-math", "-freciprocal-math", "-ffinite-math-only", "-ffp-contract=fast", "-ffp-contract=off",
        "-funroll-loops", "-fopenmp", "-fopenmp-simd", "-fno-tree-vectorize", "-std=c++17", "-std=c++23",
        "-mprefer-vector-width=128", "-mprefer-vector-width=256", "-mprefer-vector-width=512",
    }
)  # fmt: skip

FILE_NAMES = {
    Language.CPP: "candidate.cpp",
    Language.PYTORCH: "candidate.py",
    Language.CUDA: "candidate.cu",
    Language.TRITON: "candidate.py",
}
"""What a candidate's file is called in its scratch folder and in diagnostics."""


@dataclass(frozen=True)
class Runner:
    """The worker that runs a program."""

    kind: Kind
    preload: Preload
    """What the zygote that forks it has imported."""


RUNNERS: dict[tuple[Language, DeviceKind], Runner] = {
    (Language.CPP, "cpu"): Runner("cpp", "native"),
    (Language.PYTORCH, "cpu"): Runner("pytorch", "torch"),
    (Language.PYTORCH, "cuda"): Runner("pytorch", "torch"),
    (Language.TRITON, "cpu"): Runner("interpreter", "interpreter"),
    (Language.TRITON, "cuda"): Runner("launcher", "cuda"),
    (Language.CUDA, "cuda"): Runner("launcher", "cuda"),
}
"""A pair that is not here cannot run: C++ on a GPU, CUDA without one."""


def is_interpreted(language: Language, place: DeviceKind) -> bool:
    """Whether a candidate runs in Triton's interpreter: right or wrong, but neither fast nor at large shapes."""
    runner = RUNNERS.get((language, place))
    return runner is not None and runner.kind == "interpreter"
