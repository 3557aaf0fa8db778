"""The protocol's own test tools against our app: with fixtures mounted on it, and as users get it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from node_tools import NODE_BIN, package_bin

SERVE = Path(__file__).with_name("serve_app.py")
BOUND_S = 300
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
FIXTURE_FREE = {
    "2025-11-25": {
        "server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list",
        "dns-rebinding-protection", "server-session-lifecycle",
    },
    "2026-07-28": {
        "tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list", "sep-2164-resource-not-found",
        "dns-rebinding-protection", "caching", "http-header-validation",
        "input-required-result-missing-input-response", "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params", "input-required-result-validate-input",
    },
}  # fmt: skip


@contextmanager
def served(home: Path, *options: str) -> Iterator[str]:
    """The URL of our app in a process of its own."""
    command = [sys.executable, str(SERVE), str(home), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
        finally:
            process.kill()


def node(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One run of an npm tool."""
    environ = {**os.environ, "PATH": f"{NODE_BIN}:{os.environ['PATH']}"}
    command = [str(package_bin(name)), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=BOUND_S, check=False, env=environ, stdin=subprocess.DEVNULL
    )


def scenarios(output: str) -> tuple[set[str], set[str]]:
    """The scenarios that passed and those that failed, as the summary lists them."""
    summary = output.partition("=== SUMMARY ===")[2]
    passed = set(re.findall(r"^\u2713 ([\w-]+):", summary, re.MULTILINE))
    failed = set(re.findall(r"^\u2717 ([\w-]+):", summary, re.MULTILINE))
    return passed, failed


def unscored(output: str) -> set[str]:
    """The scenarios that a revision does not require."""
    return set(re.findall(r"^  [\u2713\u2717] ([\w-]+) \(", output.partition("Not scored for")[2], re.MULTILINE))


@pytest.mark.parametrize("revision", SCORED)
def test_every_scored_scenario_passes_on_our_app_with_fixtures(revision: str, tmp_path: Path) -> None:
    with served(tmp_path, "--fixtures") as url:
        done = node("conformance", "server", "--url", url, "--requirements", revision)
    passed, failed = scenarios(done.stdout)
    aside = unscored(done.stdout)
    assert failed - aside == set(), done.stdout[-4_000:]
    assert len(passed - aside) == SCORED[revision]
    assert done.returncode == 0


@pytest.mark.parametrize("revision", SCORED)
def test_what_needs_no_fixture_passes_on_the_server_as_it_is(revision: str, tmp_path: Path) -> None:
    with served(tmp_path) as url:
        done = node("conformance", "server", "--url", url, "--requirements", revision)
    passed, _ = scenarios(done.stdout)
    assert FIXTURE_FREE[revision] - passed == set(), done.stdout[-4_000:]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspectors_strict_listing_finds_nothing(era: str, tmp_path: Path) -> None:
    options = ("--transport", "http", "--method", "tools/list", "--strict", "--protocol-era", era, "--format", "json")
    with served(tmp_path) as url:
        done = node("mcp-inspector", "--cli", url, *options)
    assert done.returncode == 0, done.stderr
    tools = json.loads(done.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["compile", "verify", "profile", "job"]
