"""What a child of the judge gets of the environment: never a token or a key."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

PASSED_ON = ("PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables that matter, and the import path of this very process, however it came by it."""
    passed = {name: environment[name] for name in PASSED_ON if name in environment}
    return {**passed, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
