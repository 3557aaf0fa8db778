"""`kernelguild serve`: the MCP server over stdio, or over HTTP on this machine alone."""

from __future__ import annotations

import argparse
from pathlib import Path


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("serve", help="serve MCP hosts", description="Serve MCP over stdio or HTTP.")
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (http)")
    parser.add_argument("--port", type=int, default=8321, help="0 takes a free one (http; default: %(default)s)")
    parser.add_argument("--toolsets", default="core", help="comma-separated (default: %(default)s)")
    parser.add_argument("--read-only", action="store_true", help="no tool that writes or runs anything")
    parser.add_argument("--home", type=Path, help="where everything is stored")
    parser.add_argument(
        "--workspace", type=Path, default=Path(), help="the folder that paths in arguments stay in (default: this one)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Deferred: the protocol SDK takes most of a second to import.
    from ..serving import Serving, serve_http, serve_stdio

    serving = Serving(
        explicit_home=arguments.home,
        workspace=arguments.workspace,
        toolsets=arguments.toolsets,
        read_only=arguments.read_only,
    )
    if arguments.transport == "stdio":
        return serve_stdio(serving)
    return serve_http(serving, arguments.host, arguments.port)
