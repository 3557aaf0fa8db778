"""The table of languages: what a candidate of each is built with and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

from ...memory.schema import Language

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


@dataclass(frozen=True)
class LanguageTraits:
    """How the judge treats a language."""

    file_name: str
    """What the candidate's file is called in its scratch folder and in diagnostics."""
    preload: str
    """What the zygote that forks its workers has imported: `native` nothing, `torch` torch."""


LANGUAGES: dict[Language, LanguageTraits] = {
    Language.CPP: LanguageTraits(file_name="candidate.cpp", preload="native"),
    Language.PYTORCH: LanguageTraits(file_name="candidate.py", preload="torch"),
}
