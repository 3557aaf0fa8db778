"""CUDA candidates without host code: NVRTC in the sandbox, to a cubin for one architecture."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ....memory.errors import ConfigError, UnavailableError
from ....memory.schema import CompileReport, KernelResources, Language, LaunchPlan, Record, Status
from ..bench import Bench
from ..device_code import DeviceCode, Variant, check_launches
from ..failure import clean
from ..languages import FILE_NAMES
from ..plan_text import read_plan
from ..worker import wait_or_timeout
from .built import MAX_LOG_BYTES, Built, Order, is_made, shorten
from .ptxas import resources

PRELUDE_NAME = "kernelguild_prelude.h"
WHERE = re.compile(r"^(\S+:\d+:) (?!error: )", re.MULTILINE)
PRODUCT_NAME = "product.json"
BASE_OPTIONS = ("-std=c++17", "-lineinfo", "--ptxas-options=-v", f"-include={PRELUDE_NAME}")


class NvrtcProduct(Record):
    """What the compiling worker leaves behind; hostile until it validates."""

    cubin: str
    """base64"""
    names: dict[str, str]
    """Kernel -> its name in the cubin."""

    def module(self) -> bytes:
        """The cubin.

        Raises:
            ValueError: it is no base64.
        """
        return base64.b64decode(self.cubin, validate=True)


@dataclass(frozen=True)
class CudaCompiler:
    """NVRTC with line information; the launch plan names the kernels."""

    bench: Bench

    def key(self, order: Order) -> Iterable[str]:
        return (order.arch,)

    def compile(self, order: Order) -> Built:
        _require()
        start = time.monotonic()
        name = FILE_NAMES[Language.CUDA]
        options = (f"--gpu-architecture={order.arch}", *BASE_OPTIONS, *_include_options())
        command = f"nvrtc --gpu-architecture={order.arch} {' '.join(BASE_OPTIONS[:-1])} {name}"
        try:
            plan = read_plan(order.candidate.source, Language.CUDA)
            check_launches(plan, order.calls, order.sm_count)
        except ConfigError as error:
            return plan_failure(str(error), command, time.monotonic() - start)
        kernels = sorted({step.kernel for step in plan.steps})
        scratch, kept = self.bench.new_scratch("cuda"), self.bench.new_folder()
        source = scratch / name
        source.write_text(order.candidate.source, encoding="utf-8")
        timeout_s = order.task.constraints.compile_timeout_s
        place = kept / PRODUCT_NAME
        with self.bench.compile("nvrtc", "cuda", source, (*kernels, "--", *options), timeout_s, place) as worker:
            ended = wait_or_timeout(worker, timeout_s)
            log = worker.output(MAX_LOG_BYTES)
        product = place if is_made(place, ended) else None
        text = clean(log.decode("utf-8", "replace"))
        code = _device_code(product, plan) if product is not None else None
        return _conclude(
            code, product, text, log, command, order.arch, time.monotonic() - start, timed_out=ended is None
        )


def checked(built: Built, order: Order) -> Built:
    """A build from before, if its plan fits this order's shapes too: the hidden ones are new each time."""
    if built.device_code is None:
        return built
    try:
        check_launches(built.device_code.plan, order.calls, order.sm_count)
    except ConfigError as error:
        return plan_failure(str(error), built.report.command, 0.0)
    return built


def plan_failure(message: str, command: str, duration_s: float) -> Built:
    """A launch plan that does not fit is a compile error like any other."""
    message = WHERE.sub(r"\1 error: ", message)
    report = CompileReport(ok=False, command=command, diagnostics=message, duration_s=duration_s)
    return Built(report, message.encode(), None, Status.COMPILE_ERROR, message.splitlines()[0][:500])


def _conclude(
    code: DeviceCode | None,
    product: Path | None,
    text: str,
    log: bytes,
    command: str,
    arch: str,
    duration_s: float,
    *,
    timed_out: bool,
) -> Built:
    kernels: tuple[KernelResources, ...] = ()
    if code is not None:
        names = {variant.function: kernel for kernel, variant in code.named.items()}
        found = resources(text, arch)
        kernels = tuple(entry.model_copy(update={"kernel": names.get(entry.kernel, entry.kernel)}) for entry in found)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("ptxas", "ptxas info"))]
    diagnostics, truncated = shorten("\n".join(lines).strip())
    report = CompileReport(
        ok=code is not None,
        command=command,
        diagnostics=diagnostics,
        truncated=truncated,
        kernels=kernels,
        duration_s=duration_s,
    )
    if code is not None:
        return Built(report, log, product, device_code=code)
    if timed_out:
        return Built(report, log, None, Status.TIMEOUT, f"compiling took more than {duration_s:.0f} s")
    first = next((line for line in diagnostics.splitlines() if "error" in line), diagnostics.split("\n", 1)[0])
    return Built(report, log, None, Status.COMPILE_ERROR, first[:500] or "the compiler failed without a word")


def _device_code(product: Path, plan: LaunchPlan) -> DeviceCode | None:
    try:
        made = NvrtcProduct.model_validate_json(product.read_bytes())
        module = made.module()
    except (ValidationError, ValueError, binascii.Error):
        return None
    if any(step.kernel not in made.names for step in plan.steps):
        return None
    names = {kernel: Variant(0, name) for kernel, name in made.names.items()}
    return DeviceCode(plan, (module,), named=names)


def _require() -> None:
    try:
        found = importlib.util.find_spec("cuda.bindings.nvrtc")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise UnavailableError("cuda: NVRTC's bindings are missing: pip install 'kernelguild[cuda]'")


def _include_options() -> list[str]:
    """Where CUDA's own headers (cuda_fp16.h and the like) are: PyPI's package or a toolkit."""
    packages = [Path(entry) / "nvidia" for entry in sys.path if (Path(entry) / "nvidia").is_dir()]
    folders = [folder for package in packages for folder in sorted(package.glob("*/include"))]
    found = [folder for folder in (*folders, Path("/usr/local/cuda/include")) if (folder / "cuda_fp16.h").is_file()]
    return [f"--include-path={folder}" for folder in found[:1]]
