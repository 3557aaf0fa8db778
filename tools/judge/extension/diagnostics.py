"""What the building worker printed, as the candidate's author can use it: own lines, short paths, the first error."""

from __future__ import annotations

import re

from ....memory.schema import Status
from .call import InlineCall
from .job import COMMAND_MARK

PLACE = re.compile(r"^(?:\S*/)?(main\.cpp|cuda\.cu)(?::|\()(\d+)(?:\):|:)(?:(\d+):)?", re.MULTILINE)
PACKAGES = re.compile(r"(?<![\w.])/[^\s:'\"]*/(?:site|dist)-packages/")
OUT_OF_MEMORY = ("out of memory", "virtual memory exhausted", "Cannot allocate memory", "Killed signal")
ERRORS = ("error: ", "undefined reference", "undefined symbol")


def parted(output: str) -> tuple[str, str]:
    """(the commands, what the compilers said); paths below site-packages start there."""
    lines = PACKAGES.sub("", output).splitlines()
    commands = [line.removeprefix(COMMAND_MARK) for line in lines if line.startswith(COMMAND_MARK)]
    return " && ".join(commands), "\n".join(line for line in lines if not line.startswith(COMMAND_MARK))


def in_candidate(log: str, call: InlineCall, source: str) -> str:
    """Say `candidate.py:LINE:` where a message points into one of the candidate's strings, verbatim in its file."""
    lines = {"main.cpp": _origins(call.cpp_sources, source, 0 if call.no_implicit_headers else 1)}
    lines["cuda.cu"] = _origins(call.cuda_sources, source, 0 if call.no_implicit_headers else 3)

    def replace(match: re.Match[str]) -> str:
        origin = lines[match[1]].get(int(match[2]))
        if origin is None:
            return match[0]
        column = f"{match[3]}:" if match[3] else ""
        return f"candidate.py:{origin}:{column}"

    return PLACE.sub(replace, log)


def failure_of(log: str, exit_code: int | None, timeout_s: float) -> tuple[Status, str]:
    """The status and the one line that says it; exit codes as a worker's: None out of time, negative a signal."""
    if exit_code is None:
        limit = f"{timeout_s:g} s (constraints.extension_timeout_s)"
        return Status.TIMEOUT, f"building the extension took more than {limit}"
    if exit_code < 0 or any(word in log for word in OUT_OF_MEMORY):
        return Status.RESOURCE_LIMIT, "the compiler ran out of the memory or file size that it may use"
    lines = log.splitlines()
    first = next((line for line in lines if any(word in line for word in ERRORS)), lines[-1] if lines else "")
    return Status.COMPILE_ERROR, first[:500] or "the compiler failed without a word"


def _origins(sources: tuple[str, ...], candidate: str, first: int) -> dict[int, int]:
    """Generated line -> the candidate's line."""
    origins: dict[int, int] = {}
    for text in sources:
        count = text.count("\n") + 1
        offset = candidate.find(text) if text else -1
        if offset >= 0:
            line = candidate.count("\n", 0, offset) + 1
            origins.update({first + 1 + step: line + step for step in range(count)})
        first += count
    return origins
