"""From a file or a text to a candidate; both are hostile until checked."""

from __future__ import annotations

from pathlib import Path

from ..memory.errors import InputError, NotFoundError
from ..memory.regular_file import read_regular_file
from ..memory.schema import MAX_SOURCE_CHARS, Candidate, Language
from .judge.plan_text import has_plan

SUFFIXES = {
    ".cpp": Language.CPP, ".cc": Language.CPP, ".cxx": Language.CPP, ".cu": Language.CUDA, ".py": Language.PYTORCH
}  # fmt: skip

MAX_SOURCE_BYTES = 4 * MAX_SOURCE_CHARS


def language_of(path: Path) -> Language:
    """The language that the file's suffix stands for.

    Raises:
        InputError: no language has this suffix.
    """
    try:
        return SUFFIXES[path.suffix.lower()]
    except KeyError:
        known = ", ".join(f"{suffix} ({language.value})" for suffix, language in SUFFIXES.items())
        raise InputError(
            f"{path}: no language has the suffix {path.suffix!r}; name the language (known: {known})"
        ) from None


def load_candidate(path: Path, language: Language | None) -> Candidate:
    """Read one source file; without `language` the suffix decides, and a launch plan makes Python Triton.

    Raises:
        NotFoundError: there is no such file.
        InputError: it is empty, too large, binary, or of an unknown language.
    """
    chosen = language or language_of(path)
    source = read_source(path)
    if language is None and chosen is Language.PYTORCH and has_plan(source):
        chosen = Language.TRITON
    return candidate_from_source(source, chosen, name=str(path))


def read_source(path: Path) -> str:
    """The text of a source file.

    Raises:
        NotFoundError: there is no such file.
        InputError: it cannot be read, is too large, or is no UTF-8 text.
    """
    try:
        data = read_regular_file(path, MAX_SOURCE_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"{path}: a source may have {MAX_SOURCE_CHARS} characters, this one has more")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); a candidate is one source file") from None


def candidate_from_source(source: str, language: Language, *, name: str = "source") -> Candidate:
    """Check a source text and wrap it.

    Raises:
        InputError: it is empty, longer than 1,000,000 characters, or holds a NUL character.
    """
    if not source.strip():
        raise InputError(f"{name}: the source is empty")
    if len(source) > MAX_SOURCE_CHARS:
        raise InputError(f"{name}: {len(source)} characters; a source may have {MAX_SOURCE_CHARS}")
    if "\0" in source:
        raise InputError(f"{name}: holds a NUL character at {source.index(chr(0))}; a source is text")
    return Candidate(language=language, source=source)
