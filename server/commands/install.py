"""`kernelguild install claude|codex`: print the host's configuration; nothing is written."""

from __future__ import annotations

import argparse
import json
import shlex
import sys

# -P: the project folder that the host starts in must not shadow the server's imports.
COMMAND = ("-P", "-m", "kernelguild.server.app")
CODEX_STARTUP_S = 30
CODEX_TOOL_S = 60
CLAUDE_TOOL_MS = 60_000


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "install",
        help="print the configuration of Claude Code or Codex",
        description="Print the configuration that adds kernelguild to an MCP host; nothing is written.",
    )
    parser.add_argument("mcp_host", metavar="claude|codex", choices=("claude", "codex"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    print(claude(sys.executable) if arguments.mcp_host == "claude" else codex(sys.executable))
    return 0


def claude(python: str) -> str:
    """The command that adds the server, and the same as a project's `.mcp.json`."""
    entry = {
        "type": "stdio",
        "command": python,
        "args": list(COMMAND),
        "env": {},
        "alwaysLoad": True,
        "timeout": CLAUDE_TOOL_MS,
    }
    line = shlex.join(["claude", "mcp", "add", "kernelguild", "--", python, *COMMAND])
    config = json.dumps({"mcpServers": {"kernelguild": entry}}, indent=2)
    return f"# Run this in the project:\n{line}\n\n# or put this into the project's .mcp.json:\n{config}"


def codex(python: str) -> str:
    """The section for `~/.codex/config.toml`."""
    return "\n".join(
        [
            "# Add this to ~/.codex/config.toml:",
            "[mcp_servers.kernelguild]",
            f"command = {json.dumps(python)}",
            f"args = {json.dumps(list(COMMAND))}",
            "required = true",
            'default_tools_approval_mode = "approve"',
            f"startup_timeout_sec = {CODEX_STARTUP_S}",
            f"tool_timeout_sec = {CODEX_TOOL_S}",
        ]
    )
