"""What this machine is, found without importing anything heavy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from ...memory.errors import UnavailableError
from ...memory.schema import Device, DeviceKind
from .languages import CXX

SMALL_SM = ((6, 0), (7, 0), (7, 2), (7, 5), (8, 0))
"""Compute capabilities with 64 cores in a streaming multiprocessor; all others have 128."""
NOISE_WORDS = re.compile(r"\(r\)|\(tm\)|@.*$|\bprocessor\b|\bcpu\b|\b\d+-core\b|\bwith\b.*$", re.IGNORECASE)


@dataclass(frozen=True)
class Site:
    """What a task is measured on here."""

    device: Device
    why_no_gpu: str = ""
    """Why a task for a GPU cannot be measured on this host; empty where it can, and for tasks of the processor."""


def site_of(kind: DeviceKind) -> Site:
    """The device that this host has for tasks of a kind; a GPU task without a GPU is compiled here, and no more."""
    if kind == "cpu":
        return Site(_processor())
    try:
        return Site(_gpu())
    except UnavailableError as error:
        processor = _processor()
        toolchain = f"{processor.toolchain}; {_device_toolchain()}"
        return Site(processor.model_copy(update={"toolchain": toolchain}), str(error))


def has_gpu() -> bool:
    """Whether an NVIDIA driver answers."""
    try:
        _gpu()
    except UnavailableError:
        return False
    return True


def _gpu() -> Device:
    try:
        import pynvml  # type: ignore[import-untyped]  # an optional extra
    except ImportError:
        raise UnavailableError("nvidia-ml-py is not installed (pip install 'kernelguild[cuda]')") from None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        name = str(pynvml.nvmlDeviceGetName(handle))
        capability = tuple(pynvml.nvmlDeviceGetCudaComputeCapability(handle))
        return Device(
            model=re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-."),
            instance=str(pynvml.nvmlDeviceGetUUID(handle)),
            kind="cuda",
            name=name,
            cores=int(pynvml.nvmlDeviceGetNumGpuCores(handle)) // (64 if capability in SMALL_SM else 128),
            memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
            toolchain=f"driver {pynvml.nvmlSystemGetDriverVersion()}; {_device_toolchain()}; {_torch_version()}",
        )
    except pynvml.NVMLError as error:
        raise UnavailableError(f"no NVIDIA driver answers ({error})") from None


def _device_toolchain() -> str:
    return "; ".join(_version_of(name) for name in ("cuda-bindings", "nvidia-cuda-nvrtc", "triton"))


def _processor() -> Device:
    cores = len(os.sched_getaffinity(0))
    name = _processor_name()
    words = re.sub(r"[^a-z0-9.]+", "-", NOISE_WORDS.sub(" ", name).lower()).strip("-.")
    return Device(
        model=f"{words or 'cpu'}-{cores}c",
        instance=f"cpu-{platform.node() or 'localhost'}",
        kind="cpu",
        name=name,
        cores=cores,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        toolchain="; ".join((_compiler_version(), _torch_version(), f"python {platform.python_version()}")),
    )


def _processor_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _compiler_version() -> str:
    path = shutil.which(CXX)
    if path is None:
        return f"no {CXX}"
    asked = subprocess.run(
        [path, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, timeout=10, check=False
    )
    return f"{CXX} {asked.stdout.strip() or 'of unknown version'}"


def _torch_version() -> str:
    return _version_of("torch")


@cache
def _version_of(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"
