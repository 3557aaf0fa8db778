"""The real Codex works with the server as its users install it, in both of its tool modes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clients.codex import CodexRun, ToolMode, run_codex
from clients.conversation import SERVER, Call, Mind
from clients.desk import Desk
from clients.engineer import Engineer
from clients.installed import codex_over_http, codex_over_stdio, served_over_http
from clients.responses_api import responses_api
from clients.story import (
    BLANKED,
    PROMPT,
    Reader,
    Recorder,
    assert_it_stayed_at_the_error,
    assert_the_kernel_was_proven,
)

both_tool_modes = pytest.mark.parametrize("mode", ToolMode, ids=lambda mode: mode.name.lower())


def session(desk: Desk, mind: Mind, mode: ToolMode, config: str, *, prompt: str = PROMPT) -> CodexRun:
    """A session that connected to the server, spoke to the stand-in alone, and ended without an error."""
    # Without it Codex would start, and succeed, with no server at all.
    assert "required = true" in config
    with responses_api(mind) as api:
        run = run_codex(prompt, mode=mode, api_url=api.url, mcp_config=config, project=desk.project, home=desk.home)
    assert api.problems == []
    assert run.exit_code == 0, run.stderr
    return run


@both_tool_modes
def test_codex_over_stdio_repairs_verifies_and_times_a_kernel(desk: Desk, mode: ToolMode) -> None:
    run = session(desk, Engineer(desk.draft), mode, codex_over_stdio())
    assert run.answer.startswith("Done: ")
    assert_the_kernel_was_proven(desk.verdicts())


@both_tool_modes
def test_codex_over_http_repairs_verifies_and_times_a_kernel(desk: Desk, mode: ToolMode) -> None:
    with served_over_http(desk.project, desk.home) as url:
        run = session(desk, Engineer(desk.draft), mode, codex_over_http(url))
    assert run.answer.startswith("Done: ")
    assert_the_kernel_was_proven(desk.verdicts())


@both_tool_modes
@pytest.mark.parametrize("hide", BLANKED.values(), ids=BLANKED.keys())
def test_codex_is_lost_without_the_text_of_the_result(desk: Desk, mode: ToolMode, hide: Callable[[str], str]) -> None:
    run = session(desk, Engineer(desk.draft, read=hide), mode, codex_over_stdio())
    assert run.answer.startswith("I am stuck: ")
    assert_it_stayed_at_the_error(desk.verdicts())


def test_codex_follows_work_that_outlasts_its_calls(desk: Desk) -> None:
    mind = Recorder(Engineer(desk.draft, options={"wait_s": 0}))
    run = session(desk, mind, ToolMode.FUNCTIONS, codex_over_stdio())
    assert run.answer.startswith("Done: ")
    assert [exchange.call.tool for exchange in mind.conversation.exchanges][:4] == ["compile", "job", "compile", "job"]
    assert_the_kernel_was_proven(desk.verdicts())


def test_codex_reads_a_resource_of_the_server(desk: Desk) -> None:
    call = Call("read_mcp_resource", {"server": SERVER, "uri": "schema://task_file"})
    run = session(desk, Reader(call), ToolMode.FUNCTIONS, codex_over_stdio(), prompt="Read it.")
    assert "seed_implementation" in run.answer


def test_codex_refuses_to_start_without_the_required_server(desk: Desk) -> None:
    broken = codex_over_stdio().replace("kernelguild.server.app", "kernelguild.server.no_such_module")
    with responses_api(Engineer(desk.draft)) as api:
        run = run_codex(
            PROMPT, mode=ToolMode.CODE, api_url=api.url, mcp_config=broken, project=desk.project, home=desk.home
        )
    assert run.exit_code == 1
    assert api.requests == []
