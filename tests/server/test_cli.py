"""The command line, as a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from real_server import BOUND_S, over_stdio
from scripted_judge import EXAMPLES, TASK, facts_of

SEED = EXAMPLES / TASK / "seed.cpp"
TASK_FOLDER = str(EXAMPLES / TASK)


def kernelguild(*arguments: str, home: Path | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One command."""
    where = ["--home", str(home)] if home else []
    command = [sys.executable, "-P", "-m", "kernelguild.server.cli", *arguments, *where]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False, cwd=cwd)


def judged(*arguments: str, home: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the facts of a judging command."""
    done = kernelguild(*arguments, "--json", home=home)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.anyio
async def test_the_command_and_the_tool_answer_with_the_same_record(tmp_path: Path) -> None:
    code, by_command = judged("verify", str(SEED), "--task", TASK_FOLDER, home=tmp_path)
    async with Client(over_stdio(tmp_path)) as client:
        by_tool = facts_of(await client.call_tool("verify", {"task": TASK, "path": f"{TASK}/seed.cpp"}))
    assert code == 0
    assert by_command == by_tool


def test_the_exit_code_tells_the_candidates_fault_from_wrong_use(tmp_path: Path) -> None:
    broken = tmp_path / "broken.cpp"
    broken.write_text("retrn", encoding="utf-8")
    junk = tmp_path / "junk.cpp"
    junk.write_bytes(os.urandom(4_096) + b"\xff")
    empty = tmp_path / "empty.cpp"
    empty.write_text("", encoding="utf-8")
    huge = tmp_path / "huge.cpp"
    huge.write_text("x" * 10_000_000, encoding="utf-8")
    home = tmp_path / "home"
    code, facts = judged("compile", str(broken), "--task", TASK_FOLDER, home=home)
    assert (code, facts["status"]) == (1, "compile_error")
    absent = tmp_path / "no.cpp"
    for path, said in [
        (junk, "not UTF-8"),
        (empty, "is empty"),
        (huge, "may have 1000000 characters"),
        (absent, "no such file"),
    ]:
        done = kernelguild("compile", str(path), "--task", TASK_FOLDER, home=home)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_a_home_of_a_newer_version_cannot_judge(tmp_path: Path) -> None:
    judged("compile", str(SEED), "--task", TASK_FOLDER, home=tmp_path)
    with sqlite3.connect(tmp_path / "kernelguild.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    done = kernelguild("compile", str(SEED), "--task", TASK_FOLDER, home=tmp_path)
    assert done.returncode == 3
    assert "upgrade kernelguild" in done.stderr


def test_people_read_the_outline(tmp_path: Path) -> None:
    done = kernelguild("compile", str(SEED), "--task", TASK_FOLDER, home=tmp_path)
    assert done.stdout.startswith("status: passed\n")
    assert "next_steps:\n- It compiles. Call verify" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["complie", "x"], "did you mean compile?"),
        (["compile", "x", "--task", "y", "--jsn"], "did you mean --json?"),
        (["compile", "x", "--task", "y", "--language", "rust"], "invalid choice: 'rust'"),
        (["compile", "x"], "required: --task"),
        (["install", "claud"], "did you mean claude?"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_use_names_the_nearest_thing(arguments: list[str], said: str) -> None:
    done = kernelguild(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_reader_that_goes_away_is_no_crash() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-P", "-m", "kernelguild.server.cli", "install", "claude"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=BOUND_S, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (3, "")


def test_the_version_is_the_packages() -> None:
    assert kernelguild("--version").stdout == f"kernelguild {version('kernelguild')}\n"


def test_help_imports_neither_the_protocol_nor_the_judge() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-P", "-m", "kernelguild.server.cli", "--help"],
        capture_output=True, text=True, timeout=BOUND_S, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert imported.isdisjoint({"mcp", "torch", "aiosqlite", "rich"})


def test_doctor_says_the_same_to_people_and_to_scripts(tmp_path: Path) -> None:
    report = json.loads(kernelguild("doctor", "--json", home=tmp_path).stdout)
    lines = kernelguild("doctor", home=tmp_path).stdout.splitlines()
    names = [check["name"] for check in report["checks"]]
    assert names == ["kernelguild", "python", "cores", "g++", "torch", "triton", "cuda-bindings", "ncu",
                     "compute-sanitizer", "anthropic", "ray", "nvidia", "isolation", "home"]  # fmt: skip
    for check, line in zip(report["checks"], lines, strict=True):
        state = "ok" if check["ok"] else "unavailable"
        assert line.startswith(f"{check['name']}: {state}: {check['detail']}")
        assert bool(check["cure"]) != check["ok"]
        assert check["cure"] in line
    assert report["can_judge"] is True
    assert not (tmp_path / "kernelguild.db").exists()


def test_doctor_looks_and_never_believes(tmp_path: Path) -> None:
    """Nothing on PATH, a home that is a file: both are seen, and the exit code says so."""
    home = tmp_path / "home"
    home.write_text("", encoding="utf-8")
    command = [sys.executable, "-P", "-m", "kernelguild.server.cli", "doctor", "--home", str(home)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=BOUND_S, check=False, env={**os.environ, "PATH": str(tmp_path)}
    )
    assert done.returncode == 3
    assert "g++: unavailable: not on PATH; install g++" in done.stdout
    assert "home: unavailable:" in done.stdout


def test_install_prints_what_the_hosts_read_and_writes_nothing(tmp_path: Path) -> None:
    claude = kernelguild("install", "claude", cwd=tmp_path).stdout
    codex = kernelguild("install", "codex", cwd=tmp_path).stdout
    entry = json.loads(claude[claude.index("{") :])["mcpServers"]["kernelguild"]
    section = tomllib.loads(codex)["mcp_servers"]["kernelguild"]
    assert (entry["command"], entry["args"]) == (section["command"], section["args"])
    assert f"claude mcp add kernelguild -- {entry['command']} " in claude
    assert section["default_tools_approval_mode"] == "approve"
    assert section["tool_timeout_sec"] > 55
    assert Path(entry["command"]).stat().st_mode & stat.S_IXUSR
    assert list(tmp_path.iterdir()) == []
    started = subprocess.run([entry["command"], *entry["args"], "--help"], capture_output=True, text=True, check=True)
    assert "usage: kernelguild serve" in started.stdout


def test_a_cuda_kernel_compiles_on_a_host_without_a_gpu(tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this host has a GPU")
    candidate = EXAMPLES / "softmax_cuda" / "in_registers.cu"
    task = str(EXAMPLES / "softmax_cuda")
    code, facts = judged("compile", str(candidate), "--task", task, home=tmp_path)
    assert (code, facts["status"]) == (0, "passed")
    kernels = {kernel["kernel"]: kernel for kernel in facts["kernels"]}
    assert kernels.keys() == {"softmax_scalar", "softmax_vector"}
    assert kernels["softmax_vector"]["target"] == "sm_90"
    assert kernels["softmax_vector"]["registers"] > 32
    assert kernels["softmax_vector"]["spill_bytes"] == 0
    done = kernelguild("profile", str(candidate), "--task", task, home=tmp_path)
    assert done.returncode == 3
    assert "run on a GPU only" in done.stderr


def test_a_deep_profile_shows_counters_or_why_there_are_none(tmp_path: Path) -> None:
    code, facts = judged("profile", str(SEED), "--task", TASK_FOLDER, "--deep", home=tmp_path)
    assert code == 0
    assert facts["tier"] == "deep"
    assert facts["profile"]["wall_ms"] > 0
    assert facts["profile"].get("elapsed_cycles") or facts["profile"]["unavailable"]
