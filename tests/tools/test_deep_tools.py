"""A vendor's tool around a runner, with scripts that write what the real tools were seen to write."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelguild.memory.errors import UnavailableError
from kernelguild.tools.judge.deep.ncu import ncu_command, profile
from kernelguild.tools.judge.deep.sanitizer import sanitize
from kernelguild.tools.judge.deep.tool import OUTPUT_TAIL_BYTES, DeepRun, find_tool, run_tool
from profiles import naive_gemm

# Everything up to the tool's log is its own; what follows is the runner.
SKIP_TO_LOG = 'while [ "$1" != --log-file ]; do shift; done; log=$2; shift 2\n'
Tool = Callable[[str], Path]
PERMISSION = (
    "==PROF== Connected to process 35989 (/usr/bin/python3.10)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0. For instructions on enabling permissions and to get more information see "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
NOTHING = (
    "==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be "
    "inconsistent.\n==PROF== Connected to process 912 (/usr/bin/python3.12)\n==PROF== Disconnected from process 912\n"
    "==WARNING== No kernels were profiled.\n"
)


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """An executable whose body is a shell script; `$log` is its log and `$@` the runner."""

    def make(body: str) -> Path:
        path = tmp_path / "tool"
        path.write_text(f"#!/bin/sh\n{SKIP_TO_LOG}{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def deep_run(folder: Path, *runner: str, timeout_s: float = 60) -> DeepRun:
    environment = {"PATH": os.environ["PATH"], "GIVEN": "yes"}
    return DeepRun(runner or ("true",), environment, folder, timeout_s)


def test_a_profile_holds_the_report_and_ncus_text_byte_for_byte(tool: Tool, tmp_path: Path) -> None:
    csv = tmp_path / "log.csv"
    csv.write_bytes(naive_gemm())
    ran = tmp_path / "ran"
    profiled = profile(tool(f'cat {csv} > "$log"; exec "$@"'), deep_run(tmp_path, "touch", str(ran)), ["MyGemmKernel"])
    assert profiled.report.total.elapsed_cycles.value == 491_949
    assert profiled.raw == naive_gemm()
    assert ran.exists()


def test_only_the_named_kernels_are_profiled_with_clocks_as_they_are() -> None:
    command = ncu_command(Path("/opt/ncu"), ["rows", "cols"])
    options = dict(itertools.pairwise(command))
    assert options["--kernel-name"] == "regex:^(rows|cols)$"
    assert (options["--set"], options["--page"], options["--clock-control"]) == ("full", "raw", "none")
    assert options["--target-processes"] == "all"
    assert "--csv" in command


@pytest.mark.parametrize(
    ("log", "printed", "why"),
    [
        (PERMISSION, "", "NVreg_RestrictProfilingToAdminUsers=0"),
        (NOTHING, "", "launched none of the named kernels, but nothing; is there a GPU?"),
        (f"{NOTHING}Available Kernels:\n1. copy\n", "", "launched none of the named kernels, but copy"),
        ("==ERROR== The application returned an error code (3).\n", "", "the call itself failed under the profiler"),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n", "", "gVisor"),
        ("==ERROR== Profiling is not supported on this device\n", "", "ncu --list-chips"),
        ("==ERROR== Something else.\n", "", "ncu: Something else: ncu ended with 9"),
        ("", "==ERROR== './nothing' does not exist or is not an executable.", "the runner is missing"),
        ("", "Segmentation fault", "wrote no table; its last words: Segmentation fault"),
        ("", "", "ended with code 9 and wrote no table"),
    ],
)
def test_where_ncu_cannot_profile_it_says_why_and_the_cure(
    tool: Tool, tmp_path: Path, log: str, printed: str, why: str
) -> None:
    (tmp_path / "log").write_text(log, encoding="utf-8")
    (tmp_path / "printed").write_text(printed, encoding="utf-8")
    failing = tool(f'cat {tmp_path}/log > "$log"; cat {tmp_path}/printed; exit 9')
    with pytest.raises(UnavailableError) as refused:
        profile(failing, deep_run(tmp_path), ["k"])
    assert why in str(refused.value)


def test_what_the_program_prints_is_no_part_of_the_report(tool: Tool, tmp_path: Path) -> None:
    forged = tmp_path / "forged.csv"
    forged.write_bytes(naive_gemm().replace(b'"248,736"', b'"1"'))
    with pytest.raises(UnavailableError, match="wrote no table"):
        profile(tool('exec "$@"'), deep_run(tmp_path, "cat", str(forged)), ["MyGemmKernel"])


def test_a_hung_tool_is_ended_with_all_its_children(tool: Tool, tmp_path: Path) -> None:
    child = tmp_path / "child"
    hanging = tool(f"sleep 600 & echo $! > {child}; wait")
    with pytest.raises(UnavailableError, match="did not end within 1 s"):
        run_tool([str(hanging)], "--log-file", deep_run(tmp_path, timeout_s=1))
    stat = Path(f"/proc/{child.read_text(encoding='ascii').strip()}/stat")
    assert not stat.exists() or stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"


def test_endless_output_is_cut_to_its_end_and_leaves_nothing_behind(tool: Tool, tmp_path: Path) -> None:
    flooding = tool('head -c 50000000 /dev/zero | tr "\\0" x; echo the end')
    before = sorted(tmp_path.iterdir())
    ended = run_tool([str(flooding)], "--log-file", deep_run(tmp_path))
    assert ended.output_tail.endswith("x" * 100 + "the end\n")
    assert len(ended.output_tail) <= OUTPUT_TAIL_BYTES
    assert sorted(tmp_path.iterdir()) == before


def test_tool_and_runner_see_the_given_environment_and_a_private_folder(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the judge")
    ended = run_tool([str(tool('exec "$@"'))], "--log-file", deep_run(tmp_path, "env"))
    seen = dict(line.split("=", 1) for line in ended.output_tail.splitlines())
    assert "A_SECRET" not in seen
    assert seen["GIVEN"] == "yes"
    assert seen["TMPDIR"].startswith(str(tmp_path))
    assert seen["HOME"] == seen["TMPDIR"]


@pytest.mark.parametrize("trick", ['ln -s /etc/passwd "$log"', 'mkfifo "$log"', 'mkdir "$log"'])
def test_a_log_that_is_no_file_is_not_read(tool: Tool, tmp_path: Path, trick: str) -> None:
    assert run_tool([str(tool(trick))], "--log-file", deep_run(tmp_path)).log == b""


def test_a_check_runs_around_the_runner(tool: Tool, tmp_path: Path) -> None:
    body = 'printf "========= COMPUTE-SANITIZER\\n========= ERROR SUMMARY: 0 errors\\n" > "$log"'
    report = sanitize(tool(body), "memcheck", deep_run(tmp_path))
    assert (report.check, report.errors, report.findings) == ("memcheck", 0, ())


def test_a_tool_that_cannot_be_started_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be started"):
        run_tool([str(tmp_path / "absent")], "--log-file", deep_run(tmp_path))


def test_a_tool_is_found_on_the_path_before_the_newest_installed_version(tmp_path: Path) -> None:
    for version in ("2025.3.1", "2025.10.0", "2024.1"):
        place = tmp_path / version / "ncu"
        place.parent.mkdir()
        place.touch(0o755)
    pattern = f"{tmp_path}/*/ncu"
    assert find_tool("ncu", "", [pattern], "it") == tmp_path / "2025.10.0" / "ncu"
    assert find_tool("ncu", str(tmp_path / "2024.1"), [pattern], "it") == tmp_path / "2024.1" / "ncu"


def test_a_missing_tool_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"ncu is not on PATH, and not at /.*: install the toolkit"):
        find_tool("ncu", "", [f"{tmp_path}/*/ncu"], "the toolkit")
