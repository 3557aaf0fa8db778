"""The server as users get it: configured by what `kernelguild install` prints, or served over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

from clients.conversation import SERVER
from clients.process import clean_environment

KERNELGUILD = (sys.executable, "-P", "-m", "kernelguild.server.cli")
TOKEN_VARIABLE = "KERNELGUILD_TOKEN"
TOKEN = "a-token-of-the-tests"
START_TIMEOUT_S = 30


def printed_by_install(host: str) -> str:
    """What `kernelguild install claude|codex` prints."""
    done = subprocess.run([*KERNELGUILD, "install", host], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout


def claude_over_stdio() -> str:
    """The `.mcp.json` that a user pastes."""
    printed = printed_by_install("claude")
    return printed[printed.index("{") :]


def claude_over_http(url: str) -> str:
    """A `.mcp.json` for a server that runs already."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return json.dumps({"mcpServers": {SERVER: {"type": "http", "url": url, "headers": headers, "alwaysLoad": True}}})


def codex_over_stdio() -> str:
    """The part of config.toml that a user pastes."""
    return printed_by_install("codex")


def codex_over_http(url: str) -> str:
    """The same for a server that runs already: what says how to reach it is replaced."""
    kept = [line for line in codex_over_stdio().splitlines() if not line.startswith(("command", "args"))]
    return "\n".join([*kept, f'url = "{url}"', f'bearer_token_env_var = "{TOKEN_VARIABLE}"'])


@contextmanager
def served_over_http(project: Path, home: Path) -> Iterator[str]:
    """`kernelguild serve --transport http` in the project; yields the server's address."""
    command = [*KERNELGUILD, "serve", "--transport", "http", "--port", "0"]
    environment = clean_environment(home, {TOKEN_VARIABLE: TOKEN})
    with subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines: Queue[str] = Queue()
        reader = Thread(target=_forward, args=(process.stderr, lines))
        reader.start()
        try:
            yield lines.get(timeout=START_TIMEOUT_S).rpartition(" ")[2].strip()
        finally:
            process.terminate()
            process.wait(timeout=START_TIMEOUT_S)
            reader.join()


def _forward(stream: IO[str], lines: Queue[str]) -> None:
    """Reads to the end, so that the server never waits for its reader."""
    for line in stream:
        lines.put(line)
