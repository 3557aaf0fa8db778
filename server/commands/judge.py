"""`kernelguild compile|verify|profile CANDIDATE --task TASK`: the tools' twins, same judge, same records."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from ...memory.schema import Language

HELP = {
    "compile": "compile a candidate and show the compiler's errors and warnings",
    "verify": "check that a candidate is right, at the task's shapes and at hidden ones",
    "profile": "verify a candidate, then time it against the task's baseline",
}


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for tier, text in HELP.items():
        parser = subparsers.add_parser(tier, help=text, description=f"{text[0].upper()}{text[1:]}.")
        parser.add_argument("candidate", metavar="CANDIDATE", help="the source file")
        parser.add_argument(
            "--task", required=True, help="task.yaml or its folder, kernelbench:FILE.py, or a stored task's name"
        )
        languages = [language.value for language in Language]
        parser.add_argument("--language", choices=languages, help="default: by the file's suffix")
        if tier == "profile":
            deep = "add hardware counters, the bottleneck and, on a GPU, memory and race checks"
            parser.add_argument("--deep", dest="tier", action="store_const", const="deep", default=tier, help=deep)
        parser.add_argument("--fresh", action="store_true", help="judge again despite a stored verdict")
        parser.add_argument("--json", action="store_true", help="print the tool's structured result")
        parser.add_argument("--home", type=Path, help="where everything is stored")
        parser.set_defaults(run=run, **({} if tier == "profile" else {"tier": tier}))


def run(arguments: argparse.Namespace) -> int:
    # Deferred: `kernelguild --help` and the other commands need no judge.
    import anyio

    from ..judge_once import judge_once

    return anyio.run(
        partial(
            judge_once,
            arguments.tier,
            arguments.candidate,
            task_spec=arguments.task,
            language_name=arguments.language,
            fresh=arguments.fresh,
            as_json=arguments.json,
            explicit_home=arguments.home,
        )
    )
