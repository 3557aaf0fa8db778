"""`kernelguild serve --transport http`, as a process of its own."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil  # type: ignore[import-untyped]  # it ships no types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from real_server import BOUND_S, HANG, family, server_command, survivors
from scripted_judge import ERAS, EXAMPLES, TASK, facts_of

pytestmark = pytest.mark.anyio

TOKEN = "a-token-of-sixteen-and-more"
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass(frozen=True)
class Address:
    """A running server."""

    url: str
    process: subprocess.Popen[str]
    said: str
    """What it wrote to stderr before the address."""


@contextmanager
def serving(home: Path, token: str | None) -> Iterator[Address]:
    """A server on a free port, once it accepts connections; killed in the end."""
    environ = {name: value for name, value in os.environ.items() if name != "KERNELGUILD_TOKEN"}
    if token is not None:
        environ["KERNELGUILD_TOKEN"] = token
    command = server_command("--transport", "http", "--port", "0", "--home", str(home), "--workspace", str(EXAMPLES))
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environ) as process:
        try:
            said: list[str] = []
            assert process.stderr is not None
            while "kernelguild serves " not in (line := process.stderr.readline()):
                assert line, "".join(said)
                said.append(line)
            yield Address(line.split()[-1], process, "".join(said))
        finally:
            process.kill()


def post(url: str, **headers: str | bytes) -> int:
    """The status of a plain request."""
    encoded = {name: value if isinstance(value, bytes) else value.encode() for name, value in headers.items()}
    usual = {name: value.encode() for name, value in ACCEPT.items()}
    sent = [(name.encode(), value) for name, value in (usual | encoded).items()]
    return httpx2.post(url, json=LIST_TOOLS, headers=sent, timeout=BOUND_S).status_code


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_with_the_token_works_in_both_eras(era: Any, tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as server:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=BOUND_S)
        async with http, Client(streamable_http_client(server.url, http_client=http), mode=era) as client:
            question = {"task": TASK, "path": f"{TASK}/seed.cpp"}
            assert facts_of(await client.call_tool("compile", question))["status"] == "passed"


def test_without_the_right_token_nothing_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as server:
        assert post(server.url) == 401
        assert post(server.url, Authorization="Bearer wrong-token-of-any-length") == 401
        assert post(server.url, Authorization=f"Bearer {TOKEN}\u00e9".encode()) == 401
        assert post(server.url, Authorization=TOKEN) == 401
        assert post(server.url, Authorization=f"Bearer {TOKEN}") != 401


def test_a_foreign_host_or_origin_is_refused_even_with_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as server:
        bearer = f"Bearer {TOKEN}"
        assert post(server.url, Authorization=bearer, Host="evil.example") == 421
        assert post(server.url, Authorization=bearer, Origin="http://evil.example") == 403
        assert post(server.url, Authorization=bearer, Origin="http://localhost:3000") not in {401, 403, 421}


def test_a_token_is_made_for_the_owner_alone_and_its_path_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, None) as server:
        path = Path(server.said.split()[-1])
        token = path.read_text(encoding="utf-8").strip()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert token not in server.said
        assert post(server.url, Authorization=f"Bearer {token}") != 401
    with serving(tmp_path, None):
        assert path.read_text(encoding="utf-8").strip() == token


def test_work_ends_with_the_server(tmp_path: Path) -> None:
    with serving(tmp_path, TOKEN) as server:
        arguments = {"task": TASK, "source": HANG, "wait_s": 0}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "verify", "arguments": arguments}}
        with httpx2.Client(headers={**ACCEPT, "Authorization": f"Bearer {TOKEN}"}, timeout=BOUND_S) as http:
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
            opened = http.post(server.url, json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})
            http.headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
            assert "running" in http.post(server.url, json=call).text
            processes = family(psutil.Process(server.process.pid))
            server.process.send_signal(signal.SIGTERM)
            assert survivors(processes) == []


@pytest.mark.parametrize(
    ("options", "token", "said"),
    [
        (("--host", "0.0.0.0"), TOKEN, "serves this machine alone"),
        (("--host", "192.168.1.1"), TOKEN, "serves this machine alone"),
        (("--port", "70000"), TOKEN, "cannot listen"),
        ((), "short", "at least 16 ASCII characters"),
    ],
)
def test_what_would_be_unsafe_is_refused(options: tuple[str, ...], token: str, said: str, tmp_path: Path) -> None:
    command = server_command("--transport", "http", "--home", str(tmp_path), *options)
    environ = {**os.environ, "KERNELGUILD_TOKEN": token}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=BOUND_S, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "http_token"
    file.write_text(TOKEN, encoding="utf-8")
    file.chmod(0o644)
    environ = {name: value for name, value in os.environ.items() if name != "KERNELGUILD_TOKEN"}
    command = server_command("--transport", "http", "--port", "0", "--home", str(tmp_path))
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=BOUND_S, check=False)
    assert done.returncode == 2
    assert "chmod 600" in done.stderr
