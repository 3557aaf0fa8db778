"""The real Claude Code, headless, against a stand-in of its model API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients import messages_api
from clients.conversation import SERVER
from clients.process import clean_environment, run_bounded
from node_tools import package_bin

MODEL = "claude-sonnet-5"


@dataclass(frozen=True)
class ClaudeRun:
    """A headless session: its first event, and its last."""

    init: dict[str, Any]
    result: dict[str, Any]

    @property
    def server_status(self) -> str:
        """What Claude Code says of the connection to the server."""
        (status,) = [server["status"] for server in self.init["mcp_servers"] if server["name"] == SERVER]
        return str(status)


def run_claude(prompt: str, *, api_url: str, mcp_config: Path, project: Path, home: Path, tools: str = "") -> ClaudeRun:
    """One prompt to its answer; `tools` are the built-in tools that the model gets."""
    environment = {
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": messages_api.API_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        # Else the API key would reach the server's environment.
        "CLAUDE_CODE_MCP_ALLOWLIST_ENV": "1",
        # Else the first turn does not wait for a server that starts slowly.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": "30000",
    }
    # The prompt comes first: the flags after it take any number of values.
    command = [str(package_bin("claude")), "-p", prompt, "--model", MODEL]
    command += ["--mcp-config", str(mcp_config), "--strict-mcp-config", "--setting-sources", ""]
    command += ["--tools", tools, "--permission-mode", "dontAsk"]
    command += ["--allowedTools", ",".join(filter(None, [f"mcp__{SERVER}", tools]))]
    command += ["--max-turns", "20", "--output-format", "stream-json", "--verbose"]
    finished = run_bounded(command, cwd=project, environment=clean_environment(home, environment))
    events = finished.events()
    said = f"exit code {finished.exit_code}\n{finished.stdout[-4000:]}\n{finished.stderr[-4000:]}"
    assert [event["type"] for event in events[-1:]] == ["result"], f"Claude Code ended without a result: {said}"
    (init,) = [event for event in events if event["type"] == "system" and event["subtype"] == "init"]
    return ClaudeRun(init=init, result=events[-1])
