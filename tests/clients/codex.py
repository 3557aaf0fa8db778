"""The real Codex, headless, against a stand-in of its model API."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from clients import responses_api
from clients.installed import TOKEN, TOKEN_VARIABLE
from clients.process import clean_environment, run_bounded
from node_tools import package_bin


class ToolMode(StrEnum):
    """How the model calls tools; Codex decides it by the model's name."""

    FUNCTIONS = "gpt-5.5"
    CODE = "gpt-6-sol"


HOST = """\
model = "{model}"
model_provider = "stand_in"
approval_policy = "never"
sandbox_mode = "read-only"
web_search = "disabled"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false
unbounded_connection_retries = false

[model_providers.stand_in]
name = "stand_in"
base_url = "{api_url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 1
stream_max_retries = 1
"""


@dataclass(frozen=True)
class CodexRun:
    """A headless session."""

    exit_code: int
    answer: str
    """The last message of the model."""
    stderr: str


def run_codex(prompt: str, *, mode: ToolMode, api_url: str, mcp_config: str, project: Path, home: Path) -> CodexRun:
    """One prompt to its answer; `mcp_config` is the server's part of config.toml."""
    codex_home = home / ".codex"
    codex_home.mkdir(parents=True)
    host = HOST.format(model=mode.value, api_url=api_url)
    (codex_home / "config.toml").write_text(f"{host}\n{mcp_config}", encoding="utf-8")
    command = [str(package_bin("codex")), "exec", "--json", "--skip-git-repo-check", "--strict-config", prompt]
    own = {"CODEX_HOME": str(codex_home), "STAND_IN_KEY": responses_api.API_KEY, TOKEN_VARIABLE: TOKEN}
    environment = clean_environment(home, own)
    finished = run_bounded(command, cwd=project, environment=environment)
    messages = [
        event["item"]["text"]
        for event in finished.events()
        if event["type"] == "item.completed" and event["item"]["type"] == "agent_message"
    ]
    answer = messages[-1] if messages else ""
    return CodexRun(finished.exit_code, answer, finished.stderr + finished.stdout[-4000:])
