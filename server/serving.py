"""The server on its two transports."""

from __future__ import annotations

import difflib
import os
import signal
import socket
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer

from ..memory.clock import SystemClock
from ..memory.errors import InputError
from ..memory.home import find_home
from .app import TOOLSETS, Bearer, Surface, create_app
from .arguments import Workspace
from .engine import Engine
from .http_token import bearer, find_token
from .services import open_services

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BODY_BYTES = 8 << 20
"""A source of the largest size, escaped as JSON, fits."""
GRACE_S = 4


@dataclass(frozen=True)
class Serving:
    """The options that both transports share."""

    explicit_home: Path | None
    workspace: Path
    toolsets: str
    read_only: bool

    def home(self) -> Path:
        return find_home(self.explicit_home, environ=os.environ, cwd=Path.cwd())

    def surface(self) -> Surface:
        """Raises InputError for an unknown toolset."""
        names = tuple(name.strip() for name in self.toolsets.split(","))
        for name in names:
            if name not in TOOLSETS:
                near = difflib.get_close_matches(name, TOOLSETS, n=1, cutoff=0)
                raise InputError(f"unknown toolset {name!r}: did you mean {near[0]}? (known: {', '.join(TOOLSETS)})")
        return Surface(toolsets=names, read_only=self.read_only)


def serve_stdio(serving: Serving) -> int:
    """Serve until the client closes stdin or a signal comes."""
    engine, app = _build(serving, None)
    anyio.run(_until_eof_or_signal, app, engine)
    return 0


def serve_http(serving: Serving, host: str, port: int) -> int:
    """Serve until a signal comes; the address goes to stderr once connections are accepted.

    Raises:
        InputError: the host is not a loopback address, or the port cannot be bound.
    """
    if host not in LOOPBACK:
        raise InputError(
            f"--host {host}: kernelguild runs code that models wrote and serves this machine alone "
            f"(allowed: {', '.join(LOOPBACK)}); to reach it from elsewhere, forward the port through ssh"
        )
    token = find_token(os.environ, serving.home())
    _, app = _build(serving, bearer(token))
    with _bind(host, port) as listener:
        address = f"[{host}]" if ":" in host else host
        print(f"kernelguild serves http://{address}:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            app.streamable_http_app(host=host, max_request_body_size=MAX_BODY_BYTES),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _build(serving: Serving, credentials: Bearer | None) -> tuple[Engine, MCPServer[Any]]:
    clock = SystemClock()
    if not serving.workspace.is_dir():
        raise InputError(f"--workspace {serving.workspace}: no such folder")
    engine = Engine(partial(open_services, serving.home(), clock), clock)
    return engine, create_app(
        engine, Workspace(serving.workspace), clock, surface=serving.surface(), bearer=credentials
    )


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise InputError(f"--port {port}: cannot listen on {host}: {error}; --port 0 takes a free one") from None


async def _until_eof_or_signal(app: MCPServer[Any], engine: Engine) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_leave_on_signal, group.cancel_scope, engine)
        await app.run_stdio_async()
        group.cancel_scope.cancel()


async def _leave_on_signal(scope: anyio.CancelScope, engine: Engine) -> None:
    """Hosts end a stdio server by a signal and keep its stdin open: a thread that reads it would hold up the exit."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            scope.cancel()
            with anyio.move_on_after(GRACE_S, shield=True):
                await engine.stopped.wait()
            os._exit(128 + number)
