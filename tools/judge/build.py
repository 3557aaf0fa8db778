"""From a candidate's text to a program: g++ in the sandbox, or a parse of the Python file."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...memory.errors import UnavailableError
from ...memory.schema import Candidate, CompileReport, Language, Status, Task, content_id
from .arena import TensorPlan
from .bench import Bench, remove_tree
from .failure import CandidateFailure, clean
from .languages import BASE_COMPILER_FLAGS, CXX, LANGUAGES
from .problem import Signature
from .worker import wait_or_timeout

MAX_LOG_BYTES = 1 << 20
MAX_DIAGNOSTICS_CHARS = 6000
MAX_LINE_CHARS = 300
MAX_LIBRARY_BYTES = 64 << 20
KNOWN_BUILDS = 64
C_TYPES = {
    "float64": "double", "float32": "float", "float16": "_Float16", "bfloat16": "uint16_t", "int64": "int64_t",
    "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "bool",
}  # fmt: skip
OUT_OF_MEMORY = ("out of memory", "virtual memory exhausted", "Cannot allocate memory")


@dataclass(frozen=True)
class Built:
    """What compiling gave."""

    report: CompileReport
    log: bytes
    """What the compiler printed, as far as it is kept."""
    target: Path | None
    """The library or the file; None where compiling failed."""
    status: Status = Status.PASSED
    message: str = "compiled"


@dataclass
class Builder:
    """Builds candidates; the latest are kept, so that the same text is built once."""

    bench: Bench
    _cache: dict[str, Built] = field(default_factory=dict)

    def build(self, task: Task, candidate: Candidate, signature: Signature) -> Built:
        """Compile (or parse) a candidate for a task; a failure is a result."""
        declaration = c_declaration(task.entry, signature)
        key = content_id(candidate.id, declaration, *task.constraints.compiler_flags)
        known = self._cache.pop(key, None)
        if known is not None:
            self._cache[key] = known
            return Built(
                known.report.model_copy(update={"cached": True}), known.log, known.target, known.status, known.message
            )
        if candidate.language is Language.CPP:
            built = self._compile(task, candidate, declaration)
        else:
            built = self._parse(candidate)
        if built.status is not Status.TIMEOUT:
            self._cache[key] = built
            self._forget()
        return built

    def _forget(self) -> None:
        while len(self._cache) > KNOWN_BUILDS:
            oldest = self._cache.pop(next(iter(self._cache)))
            if oldest.target is not None:
                remove_tree(oldest.target.parent)

    def _compile(self, task: Task, candidate: Candidate, declaration: str) -> Built:
        scratch, kept = self.bench.new_scratch(), self.bench.new_folder()
        name = LANGUAGES[Language.CPP].file_name
        (scratch / name).write_text(candidate.source, encoding="utf-8")
        (scratch / "entry.h").write_text(declaration, encoding="utf-8")
        command = compile_command(task.entry, task.constraints.compiler_flags, name)
        timeout_s = task.constraints.compile_timeout_s
        start = time.monotonic()
        with self.bench.execute((_compiler(), *command[1:]), scratch, timeout_s) as worker:
            ended = wait_or_timeout(worker, timeout_s)
            log = worker.output(MAX_LOG_BYTES)
        duration_s = time.monotonic() - start
        library = (
            _take_library(scratch / "candidate.so", kept / "candidate.so") if ended and ended.exit_code == 0 else None
        )
        remove_tree(scratch)
        diagnostics, truncated = shorten(clean(log.decode("utf-8", "replace")))
        report = CompileReport(
            ok=library is not None,
            command=" ".join(command),
            diagnostics=diagnostics,
            truncated=truncated,
            duration_s=duration_s,
        )
        if ended is None:
            return Built(report, log, None, Status.TIMEOUT, f"compiling took more than {timeout_s:g} s")
        if library is None:
            return Built(report, log, None, *_compile_failure(diagnostics, ended.signal))
        return Built(report, log, library)

    def _parse(self, candidate: Candidate) -> Built:
        name = LANGUAGES[Language.PYTORCH].file_name
        start = time.monotonic()
        diagnostics = ""
        try:
            tree = ast.parse(candidate.source, filename=name)
            if not any(isinstance(node, ast.ClassDef) and node.name == "ModelNew" for node in tree.body):
                diagnostics = f"{name}:1: error: the file defines no class ModelNew at its top level"
        except SyntaxError as error:
            line = (error.text or "").rstrip()[:MAX_LINE_CHARS]
            diagnostics = f"{name}:{error.lineno}:{error.offset}: error: {error.msg}\n    {line}"
        except (ValueError, RecursionError, MemoryError) as error:
            diagnostics = f"{name}:1: error: the file cannot be parsed: {error}"
        report = CompileReport(
            ok=not diagnostics,
            command=f"python -m py_compile {name}",
            diagnostics=clean(diagnostics),
            duration_s=time.monotonic() - start,
        )
        if diagnostics:
            return Built(report, diagnostics.encode(), None, Status.COMPILE_ERROR, clean(diagnostics).splitlines()[0])
        target = self.bench.new_folder() / name
        target.write_text(candidate.source, encoding="utf-8")
        return Built(report, b"", target)


def compile_command(entry: str, flags: Sequence[str], name: str) -> tuple[str, ...]:
    """The whole command line; the linker refuses a library without the entry or with anything unresolved."""
    return (
        CXX, *BASE_COMPILER_FLAGS, *flags, "-fdiagnostics-color=never", "-fmax-errors=20", "-include", "entry.h",
        f"-Wl,--require-defined={entry}", "-Wl,-z,defs", name, "-o", "candidate.so",
    )  # fmt: skip


def c_declaration(entry: str, signature: Signature) -> str:
    """The entry's C declaration: included before the candidate, so that a wrong signature is a compile error."""
    arguments = [f"const {_c_type(plan)}* {plan.name}" for plan in signature.inputs if isinstance(plan, TensorPlan)]
    arguments += [f"const {_c_type(plan)}* parameter{position}" for position, plan in enumerate(signature.parameters)]
    arguments += [f"{_c_type(plan)}* {plan.name}" for plan in signature.outputs]
    arguments += [f"int64_t symbol{position}" for position in range(len(signature.symbols))]
    return f'#include <stdint.h>\nextern "C" int {entry}({", ".join(arguments)});\n'


def shorten(log: str) -> tuple[str, bool]:
    """The log with its first error in front, cut at a line end; and whether it was cut."""
    lines = log.splitlines()
    first = next((number for number, line in enumerate(lines) if "error: " in line), 0)
    text = "\n".join([*lines[first:], *lines[:first]])
    if len(text) <= MAX_DIAGNOSTICS_CHARS:
        return text, False
    return text[: text.rfind("\n", 0, MAX_DIAGNOSTICS_CHARS)] if "\n" in text[:MAX_DIAGNOSTICS_CHARS] else text[
        :MAX_DIAGNOSTICS_CHARS
    ], True


def _compile_failure(diagnostics: str, died_of: int | None) -> tuple[Status, str]:
    if died_of is not None or any(word in diagnostics for word in OUT_OF_MEMORY):
        return Status.RESOURCE_LIMIT, "the compiler ran out of the memory or file size that it may use"
    first = next((line for line in diagnostics.splitlines() if "error: " in line), diagnostics.split("\n", 1)[0])
    if "required symbol" in diagnostics:
        first = 'the library does not export the entry; define it as extern "C" with the task\'s name'
    return Status.COMPILE_ERROR, first[:500] or "the compiler failed without a word"


def _take_library(produced: Path, kept: Path) -> Path | None:
    """Copy what the compiler made out of its reach; never follow a link that it left."""
    try:
        descriptor = os.open(produced, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_LIBRARY_BYTES:
            return None
        kept.write_bytes(file.read())
    return kept


def _compiler() -> str:
    path = shutil.which(CXX)
    if path is None:
        raise UnavailableError(f"cpp: {CXX} is not on PATH; install it (Debian: apt install g++)")
    return path


def _c_type(plan: TensorPlan) -> str:
    return C_TYPES[plan.dtype]


def check(built: Built) -> Path:
    """The program's file.

    Raises:
        CandidateFailure: compiling failed.
    """
    if built.target is None:
        raise CandidateFailure(built.status, built.message)
    return built.target
