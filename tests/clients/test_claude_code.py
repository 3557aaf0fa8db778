"""The real Claude Code works with the server as its users install it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.claude import ClaudeRun, run_claude
from clients.conversation import SERVER, Call, Mind
from clients.desk import Desk
from clients.engineer import Engineer
from clients.installed import claude_over_http, claude_over_stdio, printed_by_install, served_over_http
from clients.messages_api import messages_api
from clients.process import clean_environment, run_bounded
from clients.story import (
    BLANKED,
    PROMPT,
    Reader,
    assert_it_stayed_at_the_error,
    assert_the_kernel_was_proven,
)
from node_tools import package_bin


def session(desk: Desk, mind: Mind, prompt: str, config: str, *, tools: str = "") -> ClaudeRun:
    """A session that connected to the server, spoke to the stand-in alone, and ended without an error."""
    path = desk.project / ".mcp.json"
    path.write_text(config, encoding="utf-8")
    with messages_api(mind) as api:
        run = run_claude(prompt, api_url=api.url, mcp_config=path, project=desk.project, home=desk.home, tools=tools)
    assert api.problems == []
    assert run.server_status == "connected"
    assert run.result["is_error"] is False, run.result
    assert run.result["permission_denials"] == []
    return run


def test_claude_code_over_stdio_repairs_verifies_and_times_a_kernel_led_by_the_slash_command(desk: Desk) -> None:
    prompt = f"/mcp__{SERVER}__optimize_kernel kernelbench:problem.py"
    run = session(desk, Engineer(desk.draft), prompt, claude_over_stdio())
    assert run.result["result"].startswith("Done: ")
    assert_the_kernel_was_proven(desk.verdicts())


def test_claude_code_over_http_repairs_verifies_and_times_a_kernel(desk: Desk) -> None:
    with served_over_http(desk.project, desk.home) as url:
        run = session(desk, Engineer(desk.draft), PROMPT, claude_over_http(url))
    assert run.result["result"].startswith("Done: ")
    assert_the_kernel_was_proven(desk.verdicts())


@pytest.mark.parametrize("hide", BLANKED.values(), ids=BLANKED.keys())
def test_claude_code_is_lost_without_the_text_of_the_result(desk: Desk, hide: Callable[[str], str]) -> None:
    run = session(desk, Engineer(desk.draft, read=hide), PROMPT, claude_over_stdio())
    assert run.result["result"].startswith("I am stuck: ")
    assert_it_stayed_at_the_error(desk.verdicts())


def test_claude_code_reads_a_resource_of_the_server(desk: Desk) -> None:
    call = Call("ReadMcpResourceTool", {"server": SERVER, "uri": "schema://task_file"})
    run = session(desk, Reader(call), "Read it.", claude_over_stdio(), tools=call.tool)
    assert "seed_implementation" in run.result["result"]


def test_the_line_that_install_prints_adds_the_server_to_claude_code(desk: Desk, tmp_path: Path) -> None:
    line = next(line for line in printed_by_install("claude").splitlines() if line.startswith("claude mcp add"))
    environment = clean_environment(desk.home, {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
    claude = str(package_bin("claude"))
    added = run_bounded([claude, *shlex.split(line)[1:]], cwd=desk.project, environment=environment)
    assert added.exit_code == 0, added.stderr
    shown = run_bounded([claude, "mcp", "get", SERVER], cwd=desk.project, environment=environment)
    assert "Connected" in shown.stdout, shown
