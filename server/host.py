"""What this host can do: looked at, never assumed, and without importing what is looked for."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..memory.database import DATABASE_NAME
from ..memory.errors import UnavailableError
from ..tools.judge.deep.ncu import PATTERNS as NCU_PATTERNS
from ..tools.judge.deep.sanitizer import PATTERNS as SANITIZER_PATTERNS
from ..tools.judge.deep.tool import find_tool
from ..tools.judge.environment import may_run_unconfined
from ..tools.judge.languages import CXX
from ..tools.judge.probe import probe

NEEDED_TO_JUDGE = frozenset({"g++", "torch", "isolation", "home"})


@dataclass(frozen=True)
class Check:
    """One capability; `cure` is empty exactly where it is there."""

    name: str
    detail: str
    cure: str = ""

    @property
    def ok(self) -> bool:
        return not self.cure

    def line(self) -> str:
        return f"{self.name}: ok: {self.detail}" if self.ok else f"{self.name}: unavailable: {self.detail}; {self.cure}"

    def as_json(self) -> dict[str, str | bool]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "cure": self.cure}


def examine(home: Path) -> list[Check]:
    """Every check, in the order in which they are shown."""
    return [
        Check("kernelguild", version("kernelguild")),
        Check("python", platform.python_version()),
        Check("cores", f"{len(os.sched_getaffinity(0))} usable"),
        _compiler(),
        _package("torch", "the judge computes references with it: install kernelguild[torch]"),
        _package("triton", "needed for triton kernels only: pip install 'kernelguild[triton]'"),
        _package("cuda-bindings", "needed for cuda and triton kernels only: pip install 'kernelguild[cuda]'", "cuda"),
        _tool("ncu", NCU_PATTERNS, "needed for deep profiles on a GPU only: install NVIDIA Nsight Compute"),
        _tool("compute-sanitizer", SANITIZER_PATTERNS, "needed for memory checks on a GPU: install a CUDA toolkit"),
        _package("anthropic", "no part of this version needs it: pip install 'kernelguild[anthropic]' for later ones"),
        _package("ray", "no part of this version needs it: pip install 'kernelguild[ray]' for later ones"),
        _nvidia(),
        _isolation(),
        _home(home),
    ]


def can_judge(checks: list[Check]) -> bool:
    """Whether compile, verify and profile work here."""
    return all(check.ok for check in checks if check.name in NEEDED_TO_JUDGE)


def _compiler() -> Check:
    cure = "install g++ 11 or later (Debian: apt install g++)"
    path = shutil.which(CXX)
    if path is None:
        return Check("g++", "not on PATH", cure)
    try:
        done = subprocess.run(
            [path, "-dumpfullversion"], capture_output=True, text=True, timeout=20, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Check("g++", f"{path} does not run: {error}", cure)
    return Check("g++", f"{done.stdout.strip()} ({path})")


def _package(name: str, cure: str, module: str = "") -> Check:
    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(name, "not installed", cure)
    if importlib.util.find_spec(module or name) is None:
        return Check(name, f"{found} is registered but its files are missing", f"reinstall it; {cure}")
    return Check(name, found)


def _tool(name: str, patterns: tuple[str, ...], cure: str) -> Check:
    try:
        return Check(name, str(find_tool(name, os.environ.get("PATH", ""), patterns, name)))
    except UnavailableError:
        return Check(name, "not on PATH, nor where CUDA toolkits put it", cure)


def _nvidia() -> Check:
    cure = "needed for GPU kernels only: install the NVIDIA driver and kernelguild[cuda]"
    try:
        import pynvml  # type: ignore[import-untyped]  # an optional extra
    except ImportError:
        return Check("nvidia", "the package nvidia-ml-py is not installed", cure)
    try:
        pynvml.nvmlInit()
        try:
            return Check("nvidia", f"driver {pynvml.nvmlSystemGetDriverVersion()}, {pynvml.nvmlDeviceGetCount()} GPUs")
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return Check("nvidia", f"no driver answers ({error})", cure)


def _isolation() -> Check:
    isolation = probe()
    layers, missing = ", ".join(isolation.layers), "; ".join(isolation.missing)
    if isolation.confined:
        return Check("isolation", f"{layers}; without {missing}" if missing else layers)
    if may_run_unconfined(os.environ):
        return Check("isolation", f"unconfined, as you allow: only {layers or 'nothing'}; without {missing}")
    return Check(
        "isolation", f"refused: {missing}", "allow unprivileged user namespaces and Landlock (Linux 5.13 or later)"
    )


def _home(home: Path) -> Check:
    cure = "give another --home or set KERNELGUILD_HOME"
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        return Check("home", f"{home} cannot be written", cure)
    database = home / DATABASE_NAME
    if not database.exists():
        return Check("home", f"{home}, made on first use")
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            number = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        return Check("home", f"{database} cannot be read: {error}", cure)
    return Check("home", f"{home}, database version {number}")
