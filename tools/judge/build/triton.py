"""Triton candidates without host code: Triton's compiler in the sandbox, ahead of time, one form per launch."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ....memory.errors import ConfigError, UnavailableError
from ....memory.schema import CompileReport, KernelResources, Language, LaunchPlan, Record, Status, content_id
from ..bench import OUTPUT_LIMIT_BYTES, Bench
from ..device_code import DeviceCode, Variant, VariantKey, check_launches
from ..failure import clean
from ..languages import FILE_NAMES
from ..plan_text import read_plan
from ..worker import wait_or_timeout
from ..worker_spec import WorkerEnd
from .built import MAX_LOG_BYTES, Built, Order, is_made, shorten
from .ptxas import resources
from .pytorch import syntax_problem
from .triton_variants import WantedVariant, wanted_variants

ORDER_NAME = "variants.json"
PRODUCT_NAME = "product.json"
MAX_TEXT_CHARS = 8 << 20
BLOCK_SHARED_BYTES = {
    70: 98304, 75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448, 103: 232448,
    120: 101376, 121: 101376,
}  # fmt: skip
"""The most shared memory that one block may ask for (CUDA C++ Programming Guide, table of compute capabilities)."""

WRONG_BF16 = "it computes in bfloat16, which Triton's interpreter does wrongly"


class CompiledVariant(Record):
    """One compiled form, as the compiling worker describes it; hostile until it validates."""

    cubin: Annotated[str, Field(max_length=OUTPUT_LIMIT_BYTES)]
    """base64"""
    ptx: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
    function: Annotated[str, Field(min_length=1, max_length=1000)]
    threads: int = Field(ge=1, le=1024)
    shared_bytes: int = Field(ge=0)
    log: Annotated[str, Field(max_length=MAX_LOG_BYTES)]
    """What the assembler said."""
    bf16_arithmetic: bool


class TritonProduct(Record):
    """What the compiling worker leaves behind."""

    variants: tuple[CompiledVariant, ...]


@dataclass(frozen=True)
class TritonCompiler:
    """Every form of every kernel that any shape needs, compiled by one worker."""

    bench: Bench

    def key(self, order: Order) -> Iterable[str]:
        """Hidden shapes differ from one evaluation to the next, and with them the forms that they need."""
        try:
            _, wanted = _read(order)
        except ConfigError as error:
            return (order.arch, str(error))
        return (order.arch, content_id(*sorted(repr(variant) for variant in wanted.values())))

    def compile(self, order: Order) -> Built:
        if importlib.util.find_spec("triton") is None:
            raise UnavailableError("triton: the package is missing: pip install 'kernelguild[triton]'")
        start = time.monotonic()
        name = FILE_NAMES[Language.TRITON]
        command = f"triton.compile {name} for {order.arch}"
        problem = syntax_problem(order.candidate.source, name)
        if problem:
            return _failed(clean(problem), command, start)
        try:
            plan, wanted = _read(order)
        except ConfigError as error:
            return _failed(str(error), command, start)
        scratch, kept = self.bench.new_scratch("triton"), self.bench.new_folder()
        source = scratch / name
        source.write_text(order.candidate.source, encoding="utf-8")
        (scratch / ORDER_NAME).write_text(_order_text(plan, wanted, order.arch), encoding="ascii")
        timeout_s = order.task.constraints.compile_timeout_s
        product = kept / PRODUCT_NAME
        with self.bench.compile("triton", "triton", source, (), timeout_s, product) as worker:
            ended = wait_or_timeout(worker, timeout_s)
            log = clean(worker.output(MAX_LOG_BYTES).decode("utf-8", "replace")).replace(f"{scratch}/", "")
        if not is_made(product, ended):
            return _failed(log, command, start, *_why(ended, timeout_s, log))
        return _conclude(order, plan, wanted, product, log, command, start)


def _read(order: Order) -> tuple[LaunchPlan, dict[VariantKey, WantedVariant]]:
    plan = read_plan(order.candidate.source, Language.TRITON)
    check_launches(plan, order.calls, order.sm_count)
    return plan, wanted_variants(plan, order)


def _order_text(plan: LaunchPlan, wanted: dict[VariantKey, WantedVariant], arch: str) -> str:
    return json.dumps(
        {
            "kernels": sorted({step.kernel for step in plan.steps}),
            "capability": _capability(arch),
            "variants": [variant.describe() for variant in wanted.values()],
        }
    )


def _capability(arch: str) -> int:
    """`sm_90a` -> 90: Triton adds the letter itself."""
    return int("".join(re.findall(r"\d", arch)))


def _why(ended: WorkerEnd | None, timeout_s: float, log: str) -> tuple[Status, str]:
    if ended is None:
        return Status.TIMEOUT, f"compiling took more than {timeout_s:g} s (the file's own top level included)"
    if "MemoryError" in log or "bad_alloc" in log:
        return Status.RESOURCE_LIMIT, "the compiler ran out of the memory that it may use"
    if ended.signal is not None:
        return Status.COMPILE_ERROR, f"Triton's compiler died of signal {ended.signal}"
    first = next((line for line in log.splitlines() if "error: " in line), log.strip().split("\n", 1)[0])
    return Status.COMPILE_ERROR, first[:500] or "the compiler failed without a word"


def _failed(
    diagnostics: str, command: str, start: float, status: Status = Status.COMPILE_ERROR, message: str = ""
) -> Built:
    shown, truncated = shorten(diagnostics.strip())
    report = CompileReport(
        ok=False, command=command, diagnostics=shown, truncated=truncated, duration_s=time.monotonic() - start
    )
    return Built(report, diagnostics.encode(), None, status, message or shown.split("\n", 1)[0][:500])


def _conclude(
    order: Order,
    plan: LaunchPlan,
    wanted: dict[VariantKey, WantedVariant],
    product: Path,
    log: str,
    command: str,
    start: float,
) -> Built:
    try:
        made = TritonProduct.model_validate_json(product.read_bytes()).variants
        modules = [base64.b64decode(variant.cubin, validate=True) for variant in made]
    except (ValidationError, ValueError, binascii.Error):
        made, modules = (), []
    if len(made) != len(wanted):
        return _failed(log, command, start, message="the file ended the compiler before it was done")
    most = BLOCK_SHARED_BYTES.get(_capability(order.arch))
    for asked, variant in zip(wanted.values(), made, strict=True):
        if most is not None and variant.shared_bytes > most:
            told = (
                f"error: kernel {asked.kernel} ({asked.text}) takes {variant.shared_bytes} bytes of shared memory a "
                f"block; {order.arch} has {most}: smaller constants or fewer num_stages need less"
            )
            return _failed(f"{told}\n{log}", command, start, message=told)
    target = product.with_name(FILE_NAMES[Language.TRITON])
    target.write_text(order.candidate.source, encoding="utf-8")
    shown, truncated = shorten(log.strip())
    kernels = tuple(_resources(*pair, order.arch) for pair in zip(wanted.values(), made, strict=True))
    report = CompileReport(
        ok=True,
        command=command,
        diagnostics=shown,
        truncated=truncated,
        kernels=kernels,
        duration_s=time.monotonic() - start,
    )
    code = DeviceCode(plan, tuple(modules), variants=_variants(list(wanted), made))
    ptx = tuple(variant.ptx.encode() for variant in made)
    why_not = WRONG_BF16 if any(variant.bf16_arithmetic for variant in made) else ""
    return Built(report, log.encode(), target, device_code=code, ptx=ptx, why_not_interpreted=why_not)


def _variants(keys: list[VariantKey], made: tuple[CompiledVariant, ...]) -> dict[VariantKey, Variant]:
    return {
        key: Variant(number, variant.function, variant.threads, variant.shared_bytes)
        for number, (key, variant) in enumerate(zip(keys, made, strict=True))
    }


def _resources(asked: WantedVariant, made: CompiledVariant, arch: str) -> KernelResources:
    found = resources(made.log, arch)
    known = found[0] if found else KernelResources(kernel=asked.kernel, target=arch)
    return known.model_copy(update={"kernel": asked.kernel, "shared_bytes": made.shared_bytes, "variant": asked.text})
