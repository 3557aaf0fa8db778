"""Nsight Compute around one call: the report, and its raw text for a look at any metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....memory.errors import UnavailableError
from ....memory.schema import ProfilingReport
from ..failure import clean
from .figures import NO_PEAKS, RooflinePeaks
from .ncu_csv import HEADER_START, parse
from .report import report_of
from .sections import EXTRA_METRICS
from .tool import DeepRun, ToolEnd, find_tool, run_tool

PATTERNS = ("/usr/local/cuda/bin/ncu", "/usr/local/cuda-*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
PACKAGE = "NVIDIA Nsight Compute (it comes with the CUDA toolkit)"
MAX_PROFILED = 64
"""Launches profiled in one call; ncu replays each about 40 times."""
ERROR = re.compile(r"^==ERROR== (.+)$", re.MULTILINE)
NO_KERNELS = "No kernels were profiled"
AVAILABLE = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
MAX_NAMES = 5
CURES = {
    "ERR_NVGPUCTRPERM": (
        "the driver keeps its performance counters for administrators; run as root or with CAP_SYS_ADMIN (containers: "
        "--cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
    ),
    "LibraryNotLoaded": "the counters are out of reach here, as in a gVisor container; run on the host or in a real VM",
    "driver resource was unavailable": "another profiler or DCGM holds the counters; stop it (dcgmi profile --pause)",
    "not supported on": "this ncu cannot profile this GPU; ncu --list-chips says which it can; install a newer one",
    "InterprocessLockFailed": "another ncu runs on this machine; wait for it",
    "application returned an error code": "the call itself failed under the profiler; see what it printed",
    "does not exist or is not an executable": "the runner is missing",
}


@dataclass(frozen=True)
class NcuProfile:
    """A report and the text it was made from, byte for byte as ncu wrote it."""

    report: ProfilingReport
    raw: bytes


def find_ncu(path: str) -> Path:
    """Where ncu is; `path` as in PATH.

    Raises:
        UnavailableError: it is not installed.
    """
    return find_tool("ncu", path, PATTERNS, PACKAGE)


def ncu_command(ncu: Path, kernels: Sequence[str]) -> list[str]:
    """The command line up to its log; `kernels` are the names to profile, all others only run.

    Caches are flushed before each replay (ncu's default) and the clocks are left as they are.
    """
    names = "|".join(re.escape(name) for name in kernels)
    return [
        str(ncu), "--set", "full", "--metrics", ",".join(EXTRA_METRICS), "--csv", "--page", "raw",
        "--print-units", "base", "--clock-control", "none", "--target-processes", "all",
        "--launch-count", str(MAX_PROFILED), "--kernel-name", f"regex:^({names})$",
    ]  # fmt: skip


def profile(ncu: Path, run: DeepRun, kernels: Sequence[str], peaks: RooflinePeaks = NO_PEAKS) -> NcuProfile:
    """Profile one call of a candidate.

    Raises:
        UnavailableError: ncu cannot profile here, or not this call; says why and the cure.
        NcuFormatError: it wrote something that is no complete raw CSV.
    """
    ended = run_tool(ncu_command(ncu, kernels), "--log-file", run)
    why = why_unavailable(ended)
    if why is not None:
        raise UnavailableError(why)
    return NcuProfile(report_of(parse(ended.log), peaks), ended.log)


def why_unavailable(ended: ToolEnd) -> str | None:
    """Why there is nothing to report, with the cure; None where ncu wrote a table."""
    log = ended.log.decode("utf-8", "replace")
    # A wrong command line is reported before the log is opened; the program's own words count only without a table.
    said = ERROR.search(log) or (None if HEADER_START in log else ERROR.search(ended.output_tail))
    if said is not None:
        message = said.group(1).strip()[:300]
        cure = next((cure for words, cure in CURES.items() if words in message), f"ncu ended with {ended.exit_code}")
        return f"ncu: {message.rstrip('.')}: {cure}"
    if HEADER_START in log:
        return None
    if NO_KERNELS in log:
        launched = ", ".join(clean(name) for name in AVAILABLE.findall(log)[:MAX_NAMES]) or "nothing; is there a GPU?"
        return f"ncu: {NO_KERNELS}: the call launched none of the named kernels, but {launched[:300]}"
    words = " ".join(ended.output_tail.split())[-300:]
    return f"ncu ended with code {ended.exit_code} and wrote no table; its last words: {words or 'none'}"
