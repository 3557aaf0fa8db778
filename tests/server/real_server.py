"""The real server in a process of its own, over the real judge."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types
from mcp import StdioServerParameters

from scripted_judge import EXAMPLES

HANG = """extern "C" int softmax(const float*, float*, long, long) {
    volatile int forever = 1;
    while (forever) {}
    return 0;
}
"""
BOUND_S = 60.0
"""For what runs a compiler or starts torch on a busy machine."""


def server_command(*options: str) -> list[str]:
    """How hosts start it."""
    return [sys.executable, "-P", "-m", "kernelguild.server.app", *options]


def over_stdio(home: Path, *options: str, python: tuple[str, ...] = ()) -> StdioServerParameters:
    """A server over stdio whose workspace is the examples."""
    command = [*python, *server_command("--home", str(home), "--workspace", str(EXAMPLES), *options)[1:]]
    return StdioServerParameters(command=sys.executable, args=command)


def family(process: psutil.Process) -> list[psutil.Process]:
    """The process and everything below it."""
    return [process, *process.children(recursive=True)]


def survivors(processes: list[psutil.Process], timeout_s: float = 20.0) -> list[psutil.Process]:
    """Those that are still there after the bound."""
    alive: list[psutil.Process] = psutil.wait_procs(processes, timeout=timeout_s)[1]
    return alive
