"""Inside a confined worker: Triton's compiler over one candidate. Messages go to the output, the product to a file."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from ..worker_spec import EXIT_SETUP, WorkerSpec
from .python_file import execute, located
from .serving import give_up

ORDER_NAME = "variants.json"
WARP_THREADS = 32
DIVISIBLE = [["tt.divisibility", 16]]
UNSUPPORTED = {
    "global_scratch_size": "device memory that its host code would allocate (global scratch)",
    "launch_cooperative_grid": "a cooperative launch",
    "tensordesc_meta": "tensor descriptors that its host code would make",
}
"""What Triton's own launcher sets up for a kernel and the judge's does not."""
OPERATION = re.compile(r"\b((?:arith|math|tt|scf)\.\w+)")
BF16_MOVES = frozenset(
    {
        "arith.bitcast", "arith.extf", "arith.select", "arith.truncf", "scf.for", "scf.if", "scf.yield", "tt.addptr",
        "tt.broadcast", "tt.expand_dims", "tt.func", "tt.load", "tt.reshape", "tt.return", "tt.splat", "tt.store",
        "tt.trans",
    }
)  # fmt: skip
"""What Triton's interpreter does right with bfloat16; it multiplies and adds the bit patterns as integers."""


class Refused(Exception):
    """The candidate's kernel and its launch plan do not fit each other, or the judge's launcher."""


@dataclass(frozen=True)
class Wanted:
    """One form of one kernel that is to be compiled."""

    kernel: str
    types: list[str]
    """Of the plan's arguments, in order: `*fp32`, `i32`."""
    divisible: list[bool]
    """Which of them are known to be multiples of 16."""
    constants: dict[str, int]
    num_warps: int
    num_stages: int


def load(spec: WorkerSpec, shared: int) -> NoReturn:
    """Compile every form that the judge wants, and end."""
    del shared
    scratch = spec.confinement.scratch
    path = Path(spec.target).relative_to(scratch)  # the working folder
    os.environ.update(TRITON_CACHE_DIR=f"{scratch}/triton", TRITON_DUMP_PTXAS_LOG="1")
    order = json.loads(Path(ORDER_NAME).read_text(encoding="ascii"))
    namespace: dict[str, Any] = {}
    try:
        namespace = execute(str(path))
        kernels = {name: find_kernel(namespace, name, path.name, JITFunction) for name in order["kernels"]}
        made = [_compile(kernels[entry["kernel"]], Wanted(**entry), order["capability"]) for entry in order["variants"]]
    except Refused as error:
        give_up(EXIT_SETUP, str(error))
    except CompilationError as error:
        give_up(EXIT_SETUP, _explain(error, namespace, path))
    except BaseException as error:  # noqa: BLE001  candidate code may raise anything, SystemExit included
        give_up(EXIT_SETUP, located(error, str(path)))
    Path(spec.product).write_text(json.dumps({"variants": made}), encoding="ascii")
    sys.stdout.flush()
    os._exit(0)


def find_kernel(namespace: dict[str, Any], name: str, file: str, wanted: type) -> Any:
    """The kernel that a plan names.

    Raises:
        Refused: it is missing, or decorated with more (or less) than `@triton.jit`.
    """
    found = namespace.get(name)
    if isinstance(found, wanted):
        return found
    if found is None:
        raise Refused(f"{file}:1: error: the launch plan names kernel {name!r}, which the file does not define")
    if hasattr(found, "fn"):
        raise Refused(
            f"{file}:1: error: kernel {name!r} is a {type(found).__name__}, not a plain @triton.jit function: state "
            "configurations in the launch plan instead, as steps with `when`, `constants`, `num_warps`, `num_stages`"
        )
    raise Refused(f"{file}:1: error: {name!r} is a {type(found).__name__}; a kernel is a @triton.jit function")


def _compile(kernel: Any, wanted: Wanted, capability: int) -> dict[str, Any]:
    signature, constants, attributes = _signature(kernel, wanted)
    options = {"num_warps": wanted.num_warps, "num_stages": wanted.num_stages, "enable_fp_fusion": True}
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        compiled = triton.compile(
            ASTSource(kernel, signature, constants, attributes),
            target=GPUTarget("cuda", capability, WARP_THREADS),
            options=options,
        )
    metadata = compiled.metadata
    for name, what in UNSUPPORTED.items():
        if getattr(metadata, name, None):
            raise Refused(
                f"{_place(kernel)}: error: kernel {wanted.kernel} needs {what}, which launch plans do not give"
            )
    return {
        "cubin": base64.b64encode(compiled.asm["cubin"]).decode(),
        "ptx": compiled.asm["ptx"],
        "function": metadata.name,
        "threads": metadata.num_warps * WARP_THREADS,
        "shared_bytes": metadata.shared,
        "log": log.getvalue(),
        "bf16_arithmetic": _has_bf16_arithmetic(compiled.asm["ttir"]),
    }


def _has_bf16_arithmetic(ttir: str) -> bool:
    for line in ttir.splitlines():
        found = OPERATION.search(line) if "bf16" in line else None
        if found and found[1] not in BF16_MOVES and not (found[1] == "arith.constant" and "0.000000e+00" in line):
            return True
    return False


def _signature(kernel: Any, wanted: Wanted) -> tuple[dict[str, str], dict[Any, Any], dict[Any, Any]]:
    """Triton's types, constants and hints for a kernel's parameters."""
    place = _place(kernel)
    constexprs = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    plain = [parameter.name for parameter in kernel.params if not parameter.is_constexpr]
    unknown = sorted(wanted.constants.keys() - constexprs)
    if unknown:
        known = ", ".join(sorted(constexprs)) or "none"
        raise Refused(f"{place}: error: kernel {wanted.kernel} has no tl.constexpr {unknown[0]!r} (it has: {known})")
    if len(plain) != len(wanted.types):
        raise Refused(
            f"{place}: error: kernel {wanted.kernel} takes {len(plain)} arguments ({', '.join(plain)}); the launch "
            f"plan gives {len(wanted.types)} ({', '.join(wanted.types)})"
        )
    constants = {name: _constant(kernel, name, wanted, place) for name in constexprs}
    types = dict(zip(plain, wanted.types, strict=True))
    signature = {parameter.name: types.get(parameter.name, "constexpr") for parameter in kernel.params}
    hints = dict(zip(plain, wanted.divisible, strict=True))
    attributes = {(position,): DIVISIBLE for position, name in enumerate(signature) if hints.get(name)}
    return signature, constants, attributes


def _constant(kernel: Any, name: str, wanted: Wanted, place: str) -> Any:
    if name in wanted.constants:
        return wanted.constants[name]
    parameter = next(parameter for parameter in kernel.params if parameter.name == name)
    if parameter.has_default:
        return parameter.default
    raise Refused(f"{place}: error: the launch plan gives kernel {wanted.kernel} no `constants: {{{name}: ...}}`")


def _place(kernel: Any) -> str:
    return f"{Path(kernel.fn.__code__.co_filename).name}:{_first_line(kernel)}"


def _first_line(kernel: Any) -> int:
    """The line of `def`: decorators stand before it."""
    lines, start = kernel.raw_src, int(kernel.starting_line_number)
    return start + next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)


def _explain(error: CompilationError, namespace: dict[str, Any], path: Path) -> str:
    """The innermost compilation error that lies in the candidate's own functions."""
    functions = {value.src: value for value in namespace.values() if isinstance(value, JITFunction)}
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        chain.append(cause)
        cause = cause.__cause__
    own = [entry for entry in chain if isinstance(entry, CompilationError) and entry.src in functions]
    if not own:
        return f"{path.name}:1: error: {error}"
    innermost = own[-1]
    line = _first_line(functions[innermost.src]) + getattr(innermost.node, "lineno", 1) - 1
    column = getattr(innermost.node, "col_offset", 0) + 1
    said = innermost.error_message or str(chain[-1])
    text = path.read_text(encoding="utf-8").splitlines()
    shown = text[line - 1] if 0 < line <= len(text) else ""
    return f"{path.name}:{line}:{column}: error: {said.strip()}\n    {shown.strip()}"
