"""The make commands install once, and say what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from repository import ROOT

MAKE_S = 60


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Make variables of an environment in which everything has been installed."""
    for name in ("pins", "venv/bin/python", "venv/.installed", "venv/.installed-dev"):
        _touch(tmp_path / name)
    for name in ("package.json", "package-lock.json", "node_modules/.installed"):
        _touch(tmp_path / "node" / name)
    return {"INPUTS": str(tmp_path / "pins"), "VENV": str(tmp_path / "venv"), "NODE": str(tmp_path / "node")}


def test_a_second_run_installs_nothing(installed: dict[str, str]) -> None:
    python = f"{installed['VENV']}/bin/python"
    assert _make("--dry-run", "test", **installed).stdout == f"{python} -m pytest \n"


def test_a_changed_pin_is_installed_before_the_next_run(installed: dict[str, str]) -> None:
    later = Path(installed["VENV"], ".installed-dev").stat().st_mtime + 10
    os.utime(installed["INPUTS"], (later, later))
    planned = _make("--dry-run", "test", **installed).stdout
    first, then, last = (planned.index(step) for step in ("'.[torch]'", "'.[torch,triton,cuda,dev]'", "-m pytest"))
    assert first < then < last
    assert "npm" not in planned


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_an_unusable_python_is_refused_with_the_cure(python: str, tmp_path: Path) -> None:
    refused = _make("test", PYTHON=python, VENV=str(tmp_path / "venv"))
    assert refused.returncode != 0
    assert f"{python} is missing or older than 3.11; name another, such as: make test PYTHON=" in refused.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_names_the_missing_compiler(installed: dict[str, str], tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    refused = _make("demo", **installed, PATH=str(tools))
    assert refused.returncode != 0
    assert "g++ is missing" in refused.stdout


def _make(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = [f"{name}={value}" for name, value in variables.items()]
    command = [shutil.which("make") or "make", *options, *settings]
    return subprocess.run(
        command, cwd=ROOT, env={"PATH": os.defpath}, capture_output=True, text=True, timeout=MAKE_S, check=False
    )


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
