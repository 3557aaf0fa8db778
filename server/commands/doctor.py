"""`kernelguild doctor`: what this host can really do."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor", help="say what this host can really do", description="Say what this host can really do."
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    parser.add_argument("--home", type=Path, help="where everything is stored")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Deferred: `kernelguild --help` examines nothing.
    from ...memory.home import find_home
    from ..host import can_judge, examine

    home = find_home(arguments.home, environ=os.environ, cwd=Path.cwd())
    checks = examine(home)
    if arguments.json:
        print(json.dumps({"can_judge": can_judge(checks), "checks": [check.as_json() for check in checks]}, indent=2))
    else:
        print("\n".join(check.line() for check in checks))
    return 0 if can_judge(checks) else 3
