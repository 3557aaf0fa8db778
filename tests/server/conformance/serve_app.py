"""Serve our app over HTTP without a token, as the protocol's test tools need it: `serve_app.py HOME [--fixtures]`."""

from __future__ import annotations

import socket
import sys
from functools import partial
from pathlib import Path

import content_fixtures
import dialogue_fixtures
import uvicorn

from kernelguild.memory.clock import SystemClock
from kernelguild.server.app import create_app
from kernelguild.server.arguments import Workspace
from kernelguild.server.engine import Engine
from kernelguild.server.services import open_services


def main(home: Path, *, fixtures: bool) -> None:
    """Serve until a signal comes; the address goes to stderr."""
    clock = SystemClock()
    app = create_app(Engine(partial(open_services, home, clock), clock), Workspace(home), clock)
    if fixtures:
        content_fixtures.mount(app)
        dialogue_fixtures.mount(app)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app.streamable_http_app(), log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]), fixtures="--fixtures" in sys.argv)
