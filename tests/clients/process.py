"""Running a client to its end, bounded, in an environment of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node_tools import NODE_BIN

TIMEOUT_S = 90
"""A whole session of a client takes seconds; several at once on two cores take longer."""


@dataclass(frozen=True)
class Finished:
    """A client that has ended."""

    exit_code: int
    stdout: str
    stderr: str

    def events(self) -> list[dict[str, Any]]:
        """Its output, one JSON object a line."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]


def clean_environment(home: Path, extra: dict[str, str]) -> dict[str, str]:
    """Nothing of the caller's environment but PATH: no keys, no configuration, a private home folder."""
    path = os.pathsep.join([str(NODE_BIN), os.environ["PATH"]])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **extra}


def run_bounded(command: Sequence[str], *, cwd: Path, environment: dict[str, str]) -> Finished:
    """Run to the end; past the limit the whole process group is killed and the test fails with what was said."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            raise AssertionError(f"{command[0]} did not end in {TIMEOUT_S} s:\n{stdout}\n{stderr}") from None
    return Finished(process.returncode, stdout, stderr)
