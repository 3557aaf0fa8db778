"""A candidate: one implementation of a task, in one language, as one file."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from .base import StoredRecord, content_id

MAX_SOURCE_CHARS = 1_000_000


class Language(StrEnum):
    """The languages that the judge can run."""

    CPP = "cpp"
    """A shared library with one C entry."""
    CUDA = "cuda"
    """Device code alone: `__global__` kernels and a launch plan."""
    TRITON = "triton"
    """Device code alone: `@triton.jit` kernels and a launch plan."""
    PYTORCH = "pytorch"
    """KernelBench's `ModelNew`."""


class Candidate(StoredRecord):
    """One implementation. Two candidates with the same language and source are the same candidate."""

    language: Language
    """The language of `source`."""
    source: str = Field(min_length=1, max_length=MAX_SOURCE_CHARS)
    """The whole file."""

    @property
    def id(self) -> str:
        """The hash of the content."""
        return content_id(self.language.value, self.source)
