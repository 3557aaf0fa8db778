"""What a child of the judge gets of the environment: never a token or a key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ... import __file__ as package_file

PACKAGE_PARENT = Path(package_file or "").resolve().parents[1]
UNCONFINED = "KERNELGUILD_UNCONFINED"
"""Set to 1, it lets the judge work where the host cannot confine candidates."""
PASSED_ON = ("PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", UNCONFINED)


def may_run_unconfined(environment: Mapping[str, str]) -> bool:
    """Whether the user lets candidates run on a host that cannot confine them."""
    return environment.get(UNCONFINED) == "1"


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables that matter, and an import path on which this very package stands first.

    Never the current folder: whoever can write there could replace what the judge imports. Start children with -P.
    """
    passed = {name: environment[name] for name in PASSED_ON if name in environment}
    asked = [Path(entry).resolve() for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    safe = [str(path) for path in (PACKAGE_PARENT, *asked) if path != Path.cwd()]
    return {**passed, "PYTHONPATH": os.pathsep.join(safe)}
