"""The commands, in the order in which `kernelguild --help` shows them."""

from __future__ import annotations

import argparse
from typing import Protocol

from . import audit, doctor, install, judge, search, serve


class Command(Protocol):
    """A module of this folder. It is imported at every start, so what is heavy is imported when it runs."""

    def register(self, subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Add the command's parser; its default `run` takes the parsed arguments and returns the exit code."""
        ...


COMMANDS: tuple[Command, ...] = (judge, search, serve, audit, doctor, install)
