"""The command line. Exit codes: 0 passed, 1 the candidate's fault, 2 wrong use, 3 could not judge."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from importlib.metadata import version
from typing import Any, NoReturn

from ..memory.errors import InputError, KernelguildError
from ..tools.judge.environment import UNCONFINED
from .commands import COMMANDS
from .explain import explain

WRONG_USE = 2
COULD_NOT_JUDGE = 3


class Parser(argparse.ArgumentParser):
    """A parser whose refusals name the nearest thing that exists."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message}{self._nearest(message)}\nTry: {self.prog} --help\n")

    def _nearest(self, message: str) -> str:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            return _did_you_mean(choice.group(1), re.findall(r"[^\s',]+", choice.group(2)))
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown:
            return _did_you_mean(unknown.group(1).split("=")[0], self.known_options())
        return ""

    def known_options(self) -> list[str]:
        """The options of this parser and of its subcommands."""
        options = [option for action in self._actions for option in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no public name for it
                options += [
                    option
                    for parser in action.choices.values()
                    if isinstance(parser, Parser)
                    for option in parser.known_options()
                ]
        return options


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        arguments = build_parser().parse_args(argv)
        if arguments.unconfined:
            os.environ[UNCONFINED] = "1"
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else WRONG_USE
    except InputError as error:
        print(f"kernelguild: {error}", file=sys.stderr)
        return WRONG_USE
    except KernelguildError as error:
        print(f"kernelguild: {explain(error)}", file=sys.stderr)
        return COULD_NOT_JUDGE
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does; the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_JUDGE
    except KeyboardInterrupt:
        print("kernelguild: interrupted", file=sys.stderr)
        return COULD_NOT_JUDGE


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; each command registers itself."""
    parser: argparse.ArgumentParser = Parser(prog="kernelguild", description="Judge, remember and search fast kernels.")
    parser.add_argument("--version", action="version", version=f"kernelguild {version('kernelguild')}")
    parser.add_argument(
        "--unconfined",
        action="store_true",
        help=f"judge even where the host cannot confine candidates; the same as {UNCONFINED}=1",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(subparsers)
    return parser


def _did_you_mean(given: str, known: list[str]) -> str:
    near = difflib.get_close_matches(given, known, n=1)
    # Another command may have the very option that this one lacks.
    return f" (did you mean {near[0]}?)" if near and near[0] != given else ""


if __name__ == "__main__":
    sys.exit(main())
