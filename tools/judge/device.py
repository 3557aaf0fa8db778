"""What this machine is, found without importing anything heavy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from ...memory.schema import Device
from .languages import CXX

NOISE_WORDS = re.compile(r"\(r\)|\(tm\)|@.*$|\bprocessor\b|\bcpu\b|\b\d+-core\b|\bwith\b.*$", re.IGNORECASE)


def this_device() -> Device:
    """The processor that candidates run on."""
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
    try:
        return f"torch {metadata.version('torch')}"
    except metadata.PackageNotFoundError:
        return "no torch"
