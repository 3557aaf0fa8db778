"""compute-sanitizer around one call: accesses out of bounds, races, reads of memory that nobody wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ....memory.errors import UnavailableError
from ....memory.schema import Finding
from ..failure import clean
from .tool import DeepRun, ToolEnd, find_tool, run_tool

Check = Literal["memcheck", "racecheck", "initcheck"]

PATTERNS = (
    "/usr/local/cuda/bin/compute-sanitizer",
    "/usr/local/cuda-*/bin/compute-sanitizer",
    "/opt/nvidia/compute-sanitizer/*/compute-sanitizer",
)
PACKAGE = "compute-sanitizer (it comes with the CUDA toolkit)"
PRINTED = 100
"""Reports that the tool prints in full; it counts the rest."""
PADDING_BYTES = 1 << 16
"""Put after each allocation: without it, an overrun into a neighbouring buffer passes for an access of that buffer."""
MAX_FINDINGS = 8
MAX_EVIDENCE_CHARS = 600
MARK = "========="
ACCESS = re.compile(r"Invalid __(?P<space>\w+?)__ (?P<access>[a-z ]+?) of size (?P<size>[\d,]+) bytes?")
UNWRITTEN = re.compile(r"Uninitialized __(?P<space>\w+?)__ memory (?P<access>read) of size (?P<size>[\d,]+) bytes?")
RACE = re.compile(r"Error: Race reported between (?P<access>\w+) access at (?P<place>.+)")
PLACE = re.compile(r"at (?P<place>.+\+0x[0-9a-f]+.*|0x[0-9a-f]+ in .+)")
THREAD = re.compile(r"by thread (?P<thread>\([\d,]+\)) in block (?P<block>\([\d,]+\))")
ADDRESS = re.compile(r"(?:Address|Access to|Access at) (?P<address>0x[0-9a-f]+)(?P<wrong> is .+)?")
SUMMARY = re.compile(
    r"(?:ERROR SUMMARY: (?P<errors>[\d,]+) errors?|RACECHECK SUMMARY: .*\((?P<races>[\d,]+) errors?,.*)"
)
FAILED = re.compile(r"(?:Error: )?(?P<why>Target application .+|Device not supported.*|.*failed to .+)")


@dataclass(frozen=True)
class SanitizerReport:
    """What one check found."""

    check: Check
    findings: tuple[Finding, ...]
    errors: int
    """As the tool's own summary counts them; 0 means that the call is clean as far as this check sees."""
    raw: bytes
    """The tool's log, byte for byte."""


def find_sanitizer(path: str) -> Path:
    """Where compute-sanitizer is; `path` as in PATH.

    Raises:
        UnavailableError: it is not installed.
    """
    return find_tool("compute-sanitizer", path, PATTERNS, PACKAGE)


def sanitize(sanitizer: Path, check: Check, run: DeepRun) -> SanitizerReport:
    """Run one check over one call of a candidate.

    Raises:
        UnavailableError: the check did not run to its end, so that nothing follows; says why.
    """
    command = [
        str(sanitizer), "--tool", check, "--print-limit", str(PRINTED), "--target-processes", "all",
        "--report-api-errors", "no", "--padding", str(PADDING_BYTES),
    ]  # fmt: skip
    return parse_log(check, run_tool(command, "--log-file", run))


def parse_log(check: Check, ended: ToolEnd) -> SanitizerReport:
    """The findings in the tool's log; reports of one place in the code make one finding.

    Raises:
        UnavailableError: the log has no summary: the check did not run to its end.
    """
    lines = [clean(line) for line in ended.log.decode("utf-8", "replace").split("\n") if line.startswith(MARK)]
    lines = [line.removeprefix(MARK).strip() for line in lines]
    errors = _errors(lines)
    if errors is None:
        failed = next((found["why"] for line in lines if (found := FAILED.fullmatch(line))), None)
        words = failed or " ".join(ended.output_tail.split())[-300:] or f"it ended with code {ended.exit_code}"
        raise UnavailableError(
            f"compute-sanitizer {check} wrote no summary: {words[:300]}: see that the call runs alone"
        )
    return SanitizerReport(check, _findings(check, lines, errors), errors, ended.log)


def _errors(lines: list[str]) -> int | None:
    for line in lines:
        found = SUMMARY.fullmatch(line)
        if found is not None:
            return int((found["errors"] or found["races"]).replace(",", "")[:12] or 0)
    return None


def _findings(check: Check, lines: list[str], errors: int) -> tuple[Finding, ...]:
    places: dict[tuple[str, str], list[str]] = {}
    for kind, place, evidence in _reports(check, lines):
        places.setdefault((kind, place), []).append(evidence)
    found = [
        Finding(kind=kind, evidence=f"{evidence[0][:MAX_EVIDENCE_CHARS]}; {len(evidence)} of {errors} reports")
        for (kind, _place), evidence in places.items()
    ]
    if errors and not found:
        said = "; ".join(line for line in lines[1:] if line)[:MAX_EVIDENCE_CHARS]
        return (Finding(kind="sanitizer_error", evidence=f"{check}: {errors} errors of another kind: {said}"),)
    return tuple(found[:MAX_FINDINGS])


def _reports(check: Check, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Kind, place in the code and evidence of each report; a report ends at an empty line."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line:
            block.append(line)
            continue
        for start, first in enumerate(block):
            report = _access(check, first, block[start + 1 :]) or _race(check, first, block[start + 1 :])
            if report is not None:
                yield report
        block = []


def _access(check: Check, first: str, rest: list[str]) -> tuple[str, str, str] | None:
    found = ACCESS.fullmatch(first) or UNWRITTEN.fullmatch(first)
    if found is None:
        return None
    place = _first(PLACE, rest, "place") or "an unknown place"
    address = next((match for line in rest if (match := ADDRESS.fullmatch(line))), None)
    wrong = (address["wrong"] or "").strip() if address is not None else ""
    unwritten = found.re is UNWRITTEN
    kind = (
        "uninitialised_read" if unwritten else "misaligned_access" if "misaligned" in wrong else "out_of_bounds_access"
    )
    thread = next((match for line in rest if (match := THREAD.fullmatch(line))), None)
    who = f"thread {thread['thread']} of block {thread['block']}" if thread is not None else "an unknown thread"
    nearest = next((line for line in rest if line.startswith("and is ")), "")
    what = f"{found['access']} of {found['size']} bytes of {found['space']} memory"
    at = f"address {address['address']} {wrong or 'was never written'} {nearest}".rstrip() if address else "no address"
    return kind, place, f"{check}: {what} at {place} by {who}: {at}"


def _race(check: Check, first: str, rest: list[str]) -> tuple[str, str, str] | None:
    found = RACE.fullmatch(first)
    if found is None:
        return None
    others = "; ".join(line for line in rest if line.startswith("and "))
    return "race", found["place"], f"{check}: {found['access']} access at {found['place']} {others}".rstrip()


def _first(pattern: re.Pattern[str], lines: list[str], group: str) -> str | None:
    return next((found[group] for line in lines if (found := pattern.fullmatch(line))), None)
