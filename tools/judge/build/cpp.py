"""C++ candidates: g++ in the sandbox."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....memory.schema import CompileReport, Language, Status
from ..arena import TensorPlan
from ..bench import Bench
from ..failure import clean
from ..languages import BASE_COMPILER_FLAGS, CXX, FILE_NAMES
from ..problem import Signature
from ..worker import wait_or_timeout
from .built import MAX_LOG_BYTES, Built, Order, is_made, shorten
from .native_loop import NativeLoops, compiler

C_TYPES = {
    "float64": "double", "float32": "float", "float16": "_Float16", "bfloat16": "uint16_t", "int64": "int64_t",
    "int32": "int32_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "bool",
}  # fmt: skip
RESOURCE_WORDS = (
    "out of memory", "virtual memory exhausted", "Cannot allocate memory", "No space left on device",
    "File size limit exceeded",
)  # fmt: skip


@dataclass(frozen=True)
class CppCompiler:
    """g++ with the flags that the task allows."""

    bench: Bench
    loops: NativeLoops

    def key(self, order: Order) -> Iterable[str]:
        return (c_declaration(order.task.entry, order.signature), *order.task.constraints.compiler_flags)

    def compile(self, order: Order) -> Built:
        task = order.task
        scratch, kept = self.bench.new_scratch(), self.bench.new_folder()
        name = FILE_NAMES[Language.CPP]
        (scratch / name).write_text(order.candidate.source, encoding="utf-8")
        (scratch / "entry.h").write_text(c_declaration(task.entry, order.signature), encoding="utf-8")
        command = compile_command(task.entry, task.constraints.compiler_flags, name)
        timeout_s = task.constraints.compile_timeout_s
        start = time.monotonic()
        product = kept / "candidate.so"
        with self.bench.execute((compiler(), *command[1:]), scratch, timeout_s, product) as worker:
            ended = wait_or_timeout(worker, timeout_s)
            log = worker.output(MAX_LOG_BYTES)
        duration_s = time.monotonic() - start
        library = product if is_made(product, ended) else None
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
        return Built(report, log, library, loop=self.loops.loop(_argument_count(order.signature)))


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


def _compile_failure(diagnostics: str, died_of: int | None) -> tuple[Status, str]:
    if died_of is not None or any(word in diagnostics for word in RESOURCE_WORDS):
        return Status.RESOURCE_LIMIT, "the compiler ran out of the memory or disk space that it may use"
    first = next((line for line in diagnostics.splitlines() if "error: " in line), diagnostics.split("\n", 1)[0])
    if "required symbol" in diagnostics:
        first = 'the library does not export the entry; define it as extern "C" with the task\'s name'
    return Status.COMPILE_ERROR, first[:500] or "the compiler failed without a word"


def _argument_count(signature: Signature) -> int:
    return len(signature.tensors) + len(signature.symbols)


def _c_type(plan: TensorPlan) -> str:
    return C_TYPES[plan.dtype]
