"""What a built extension depends on beside its sources and flags."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import torch

from ....memory.errors import UnavailableError
from ....memory.schema import content_id

CXX = "c++"
"""What torch's own load_inline calls."""
CUDA_FOLDERS = ("/usr/local/cuda",)


def toolchain_id(*, needs_cuda: bool, architectures: str) -> str:
    """The hash of interpreter, torch, compilers and processor.

    Raises:
        UnavailableError: a compiler is missing.
    """
    compilers = [_found(CXX, "install it (Debian: apt install g++)")]
    if needs_cuda:
        compilers.append(_nvcc())
    states = [Path(path).stat() for path in compilers]
    files = [f"{os.path.realpath(path)} {s.st_size} {s.st_mtime_ns}" for path, s in zip(compilers, states, strict=True)]
    return content_id(sys.version, sys.prefix, torch.__version__, _processor(), architectures, *files)


def cuda_architectures() -> str:
    """torch's TORCH_CUDA_ARCH_LIST for this machine's first GPU, as torch itself would choose it.

    Raises:
        UnavailableError: torch sees no GPU.
    """
    if torch.version.cuda is None or not torch.cuda.is_available():
        raise UnavailableError("load_inline with cuda_sources needs a GPU and a torch with CUDA; this host has neither")
    major, minor = torch.cuda.get_device_capability(0)
    return f"{major}.{minor}+PTX"


def _nvcc() -> str:
    home = os.environ.get("CUDA_HOME")
    candidates = [f"{folder}/bin/nvcc" for folder in ((home,) if home else CUDA_FOLDERS)]
    found = shutil.which("nvcc") if not home else None
    path = found or next((name for name in candidates if Path(name).is_file()), None)
    if path is None:
        raise UnavailableError("load_inline with cuda_sources needs nvcc: install the CUDA toolkit or set CUDA_HOME")
    return path


def _found(program: str, cure: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise UnavailableError(f"load_inline needs {program}, which is not on PATH; {cure}")
    return path


def _processor() -> str:
    """What `-march=native` depends on."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
