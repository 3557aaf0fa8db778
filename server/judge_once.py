"""One question to the judge from the command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ..memory.clock import SystemClock
from ..memory.home import find_home
from ..memory.schema import NOT_ABOUT_THE_CANDIDATE, Language, Status, Tier
from ..resources.outline import outline
from ..resources.result import evaluation_result
from ..tools.judge.request import Progress
from .arguments import resolve_candidate, resolve_task
from .services import open_services

PASSED, CANDIDATES_FAULT, COULD_NOT_JUDGE = 0, 1, 3
CLEAR_LINE = "\r\x1b[K"


async def judge_once(
    tier: str,
    candidate_path: str,
    *,
    task_spec: str,
    language_name: str | None,
    fresh: bool,
    as_json: bool,
    explicit_home: Path | None,
) -> int:
    """Judge, print the result to stdout (progress to stderr where that is a terminal), return the exit code.

    Raises:
        KernelguildError: wrong use, or the judge could not answer.
    """
    home = find_home(explicit_home, environ=os.environ, cwd=Path.cwd())
    async with open_services(home, SystemClock()) as services:
        task = await resolve_task(task_spec, services.store, Path)
        language = Language(language_name) if language_name else None
        candidate = await resolve_candidate("", candidate_path, language, task=task, locate=Path)
        shown = sys.stderr.isatty()
        evaluation = await services.evaluator.evaluate(
            task, candidate, Tier(tier), fresh=fresh, progress=_show_progress if shown else None
        )
    if shown:
        print(CLEAR_LINE, end="", file=sys.stderr)
    facts = evaluation_result(evaluation, candidate.language).facts()
    print(json.dumps(facts, indent=2, ensure_ascii=False) if as_json else outline(facts))
    return _exit_code(evaluation.status)


async def _show_progress(progress: Progress) -> None:
    line = f"{CLEAR_LINE}{progress.done:g}/{progress.total:g} {progress.message}"
    print(line, end="", file=sys.stderr, flush=True)


def _exit_code(status: Status) -> int:
    if status is Status.PASSED:
        return PASSED
    return COULD_NOT_JUDGE if status in NOT_ABOUT_THE_CANDIDATE else CANDIDATES_FAULT
