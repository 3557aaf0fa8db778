"""A project with a KernelBench problem and a private home for every test; the clients' versions at the end."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from clients.desk import Desk
from node_tools import installed_version

EXAMPLE = Path(__file__).parents[2] / "examples" / "swish_kernelbench"
CLIENTS = ("@anthropic-ai/claude-code", "@openai/codex")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    shutil.copy(EXAMPLE / "problem.py", project)
    kernel = (EXAMPLE / "swish.cpp").read_text(encoding="utf-8")
    draft = kernel.replace("std::memcpy(", "std::memcopy(")
    assert draft != kernel
    return Desk(project, home, draft)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Where they are not installed, every test has failed with what to do.
    with suppress(FileNotFoundError):
        versions = ", ".join(f"{package} {installed_version(package)}" for package in CLIENTS)
        terminalreporter.write_line(f"real clients: {versions}")
