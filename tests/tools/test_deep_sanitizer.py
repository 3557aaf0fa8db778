"""compute-sanitizer's own text (2025.3 on an H200, reports in the middle left out) becomes findings."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.memory.errors import UnavailableError
from kernelguild.tools.judge.deep.sanitizer import Check, parse_log
from kernelguild.tools.judge.deep.tool import ToolEnd

LOGS = Path(__file__).parent / "data" / "sanitizer"
CHECKS: tuple[Check, ...] = get_args(Check)


def ended(log: bytes, output: str = "") -> ToolEnd:
    return ToolEnd(0, log, output)


def real(name: str) -> ToolEnd:
    return ended((LOGS / f"{name}.txt").read_bytes())


def test_a_call_without_errors_has_no_findings() -> None:
    report = parse_log("memcheck", real("clean"))
    assert (report.findings, report.errors) == ((), 0)


def test_accesses_out_of_bounds_at_one_place_are_one_finding() -> None:
    report = parse_log("memcheck", real("out_of_bounds"))
    (finding,) = report.findings
    assert report.errors == 257
    assert finding.kind == "out_of_bounds_access"
    assert finding.evidence == (
        "memcheck: read of 4 bytes of global memory at oob(float *, int)+0x80 by thread (0,0,0) of block (1,0,0): "
        "address 0x7fbfc8800400 is out of bounds and is 1 bytes after the nearest allocation at 0x7fbfc8800000 of "
        "size 1,024 bytes; 2 of 257 reports"
    )


def test_an_access_beyond_shared_memory_is_a_finding() -> None:
    (finding,) = parse_log("memcheck", real("shared")).findings
    assert finding.kind == "out_of_bounds_access"
    assert "write of 4 bytes of shared memory at sh(float *, int)+0xe0 by thread (1,0,0)" in finding.evidence


def test_a_misaligned_access_is_told_from_one_out_of_bounds() -> None:
    (finding,) = parse_log("memcheck", real("misaligned")).findings
    assert finding.kind == "misaligned_access"
    assert "address 0x7f1a3c800001 is misaligned" in finding.evidence


def test_a_race_names_both_accesses() -> None:
    report = parse_log("racecheck", real("race"))
    (finding,) = report.findings
    assert (finding.kind, report.errors) == ("race", 1)
    assert finding.evidence == (
        "racecheck: Write access at race(float *)+0xc0 and Read access at race(float *)+0xd0 [1024 hazards]; "
        "1 of 1 reports"
    )


def test_a_race_that_the_tool_only_warns_of_is_no_finding() -> None:
    log = (LOGS / "race.txt").read_text(encoding="utf-8")
    warned = log.replace("Error: Race", "Warning: Race").replace("(1 error, 0 warnings)", "(0 errors, 1 warning)")
    report = parse_log("racecheck", ended(warned.encode()))
    assert (report.findings, report.errors) == ((), 0)


def test_a_read_of_memory_that_nobody_wrote_is_a_finding() -> None:
    (finding,) = parse_log("initcheck", real("uninitialised")).findings
    assert finding.kind == "uninitialised_read"
    assert finding.evidence.startswith(
        "initcheck: read of 4 bytes of global memory at ok(float *)+0x50 by thread (0,0,0) of block (0,0,0): "
        "address 0x7f03aa800000 was never written"
    )


def test_the_text_of_older_versions_is_read_as_well() -> None:
    log = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at 0xa0a50 in /src/scan.cu:272:scan<int>(int *)
=========     by thread (30,0,0) in block (1,0,0)
=========     Address 0x7f65e5204710 is out of bounds
=========
========= ERROR SUMMARY: 1 error
"""
    (finding,) = parse_log("memcheck", ended(log.encode())).findings
    assert "at 0xa0a50 in /src/scan.cu:272:scan<int>(int *) by thread (30,0,0) of block (1,0,0)" in finding.evidence


def test_errors_of_a_kind_not_known_here_are_never_called_clean() -> None:
    log = """========= COMPUTE-SANITIZER
========= Something new happened
=========
========= ERROR SUMMARY: 3 errors
"""
    report = parse_log("memcheck", ended(log.encode()))
    assert report.errors == 3
    assert [finding.kind for finding in report.findings] == ["sanitizer_error"]
    assert "Something new happened" in report.findings[0].evidence


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_gpu", "Target application terminated before first instrumented API call"),
        ("missing", "Target application doesn't exist or is not a valid executable"),
    ],
)
def test_a_check_that_did_not_run_says_why_and_calls_nothing_clean(name: str, why: str) -> None:
    with pytest.raises(UnavailableError, match=why):
        parse_log("memcheck", real(name))


def test_a_log_that_ends_early_calls_nothing_clean() -> None:
    log = (LOGS / "out_of_bounds.txt").read_bytes()
    with pytest.raises(UnavailableError, match="wrote no summary: killed"):
        parse_log("memcheck", ended(log[: log.index(b"========= ERROR SUMMARY")], output="killed\n"))


@given(st.sampled_from(CHECKS), st.binary(max_size=300), st.integers(0, 900), st.integers(0, 900))
def test_no_bytes_raise_anything_but_unavailable(check: Check, put: bytes, start: int, end: int) -> None:
    log = (LOGS / "misaligned.txt").read_bytes()
    for damaged in (put, log[:start] + put + log[end:]):
        with contextlib.suppress(UnavailableError):
            parse_log(check, ended(damaged))
