"""From what a caller names to a task and a candidate."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from ..memory.errors import InputError
from ..memory.schema import CONTENT_ID_HEX_DIGITS, Candidate, Language, Task
from ..tools.candidates import candidate_from_source, load_candidate
from ..tools.tasks import KERNELBENCH_CPU_PREFIX, KERNELBENCH_PREFIX, load_task

if TYPE_CHECKING:
    from ..memory.store import Store

_TASK_ID = re.compile(rf"[0-9a-f]{{{CONTENT_ID_HEX_DIGITS}}}")

Locate = Callable[[str], Path]
"""Where a path in an argument lies; raises InputError where it may not lie there."""


class Workspace:
    """The folder that paths in tool arguments stay in, symlinks followed."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def locate(self, text: str) -> Path:
        """The path.

        Raises:
            InputError: it leaves the workspace.
        """
        try:
            path = (self._root / text).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{text!r} is no usable path: {error}") from None
        if not path.is_relative_to(self._root):
            raise InputError(
                f"{text} lies outside the workspace {self._root}: "
                "give a path inside it, or start the server with another --workspace"
            )
        return path


async def resolve_task(spec: str, store: Store, locate: Locate) -> Task:
    """A task file or its folder, `kernelbench:PATH`, or the id or name of a stored task.

    Raises:
        InputError: it names nothing, or the file is wrong.
        StoreError: the store cannot be read.
    """
    if not spec.strip():
        raise InputError("task is empty: give the path of a task.yaml, kernelbench:PATH, or a stored task's name")
    for prefix in (KERNELBENCH_PREFIX, KERNELBENCH_CPU_PREFIX):
        if spec.startswith(prefix):
            return await anyio.to_thread.run_sync(load_task, f"{prefix}{locate(spec.removeprefix(prefix))}")
    if _TASK_ID.fullmatch(spec):
        return await store.tasks.get(spec)
    if "/" in spec or spec.endswith((".yaml", ".yml")) or locate(spec).exists():
        return await anyio.to_thread.run_sync(load_task, locate(spec))
    return await store.tasks.find(spec)


async def resolve_candidate(
    source: str, path: str, language: Language | None, *, task: Task, locate: Locate
) -> Candidate:
    """The candidate of exactly one of `source` and `path` (empty: not given).

    Without `language` the path's suffix decides, or for a source the language of the task's seed.

    Raises:
        InputError: both or neither is given, or it is no source text.
    """
    if bool(source) == bool(path):
        given = "both are" if source else "neither is"
        raise InputError(f"give exactly one of source (the text) and path (a file in the workspace): {given} given")
    if source:
        return candidate_from_source(source, language or task.seed.language)
    located = locate(path)
    return await anyio.to_thread.run_sync(partial(load_candidate, located, language))
