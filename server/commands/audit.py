"""`kernelguild audit`: the corpus of cheats and honest candidates against the judge of this machine."""

from __future__ import annotations

import argparse


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "attack the judge with the shipped corpus of cheats, and check that honest candidates pass"
    parser = subparsers.add_parser("audit", help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument(
        "patterns", metavar="PATTERN", nargs="*", help="a technique's number, a name such as 27_*, or honest"
    )
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Deferred: `kernelguild --help` needs no judge.
    import anyio

    from ..audit_once import audit_once

    return anyio.run(audit_once, arguments.patterns, arguments.json)
