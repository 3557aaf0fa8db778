"""`kernelguild search TASK`: a tree search to a faster kernel, with a report."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

DEFAULT_AGENTS = "tuner:2"
DEFAULT_ROUNDS = 16


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "search",
        help="search for a faster kernel with several agents",
        description="Search for a faster kernel: agents propose, the judge measures, the tree remembers.",
    )
    parser.add_argument(
        "task", metavar="TASK", nargs="?", help="task.yaml or its folder, kernelbench:FILE.py, or a stored task's name"
    )
    parser.add_argument("--agents", help=f"who proposes, such as tuner:2,random:1 (default: {DEFAULT_AGENTS})")
    parser.add_argument("--rounds", type=_positive, help=f"candidates to judge (default: {DEFAULT_ROUNDS})")
    parser.add_argument("--seed", type=int, help="of the agents' random generators (default: 0)")
    parser.add_argument("--resume", metavar="ID", help="go on with a search; `latest` is the last one started")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--home", type=Path, help="where everything is stored")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Deferred: `kernelguild --help` and the other commands need no search.
    import anyio

    from ..search_once import SearchRequest, search_once

    request = SearchRequest(
        task=arguments.task,
        agents=arguments.agents,
        rounds=arguments.rounds,
        seed=arguments.seed,
        resume=arguments.resume,
        as_json=arguments.json,
        home=arguments.home,
        default_agents=DEFAULT_AGENTS,
        default_rounds=DEFAULT_ROUNDS,
    )
    return anyio.run(partial(search_once, request))


def _positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return value
