"""A candidate's Python file, run as a module, and where in it something went wrong."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

MODULE_NAME = "candidate"


def execute(path: str) -> dict[str, Any]:
    """Run the candidate's file as a module that tools such as inspect and torch can find.

    A bare file name is what tracebacks and compiled code then say: the folder is the judge's affair.
    """
    specification = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if specification is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[MODULE_NAME] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    exec(compile(Path(path).read_bytes(), path, "exec"), vars(module))
    return vars(module)


def located(error: BaseException, path: str) -> str:
    """The root cause as a compiler would say it, at the candidate's innermost line."""
    line = 1
    cause = error
    while True:
        frames = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == path]
        line = frames[-1] or line if frames else line
        if cause.__cause__ is None:
            break
        cause = cause.__cause__
    return f"{Path(path).name}:{line}: error: {type(cause).__name__}: {cause}"
