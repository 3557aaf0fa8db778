"""One search from the command line, from its arguments to its report."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from ..memory.clock import SystemClock
from ..memory.errors import InputError, NotFoundError
from ..memory.home import find_home
from ..memory.schema import Language, SearchView
from ..memory.search_state import SearchState
from ..memory.store import Store
from .arguments import resolve_task
from .report import report_html
from .search.roster import parse_agents
from .search.run import SearchRun, search_folder
from .search.terminal import LiveProgress, PlainProgress, Progress
from .search.view import Viewer
from .services import Services, open_services

FOUND, NOTHING_PASSED, COULD_NOT_JUDGE = 0, 1, 3
LATEST = "latest"
SUFFIXES = {Language.CPP: ".cpp", Language.PYTORCH: ".py"}


@dataclass(frozen=True)
class SearchRequest:
    """The arguments of `kernelguild search`."""

    task: str | None
    agents: str | None
    rounds: int | None
    seed: int | None
    resume: str | None
    as_json: bool
    home: Path | None
    default_agents: str
    default_rounds: int


async def search_once(request: SearchRequest) -> int:
    """Search, write the best kernel and the report, print where they are; returns the exit code.

    Raises:
        KernelguildError: wrong use, or the judge could not answer.
    """
    if (request.task is None) == (request.resume is None):
        raise InputError("give a TASK to start a search, or --resume ID to go on with one")
    if request.resume is not None and (request.agents is not None or request.seed is not None):
        raise InputError("--resume keeps the agents and the seed that the search was started with: leave them out")
    home = find_home(request.home, environ=os.environ, cwd=Path.cwd())
    async with open_services(home, SystemClock()) as services:
        before = await services.store.events.search_ids()
        with ExitStack() as stack:
            progress = _progress(stack)
            with _interruptible() as scope:
                state = await _search(request, services, progress)
        if scope.cancelled_caught:
            started = [known for known in await services.store.events.search_ids() if known not in before]
            print(_interrupted(request.resume or (started[-1] if started else None)), file=sys.stderr)
            return COULD_NOT_JUDGE
        view = await Viewer(services.store).view(state)
    files = _write(search_folder(home, view.search_id), view, state)
    print(json.dumps(_facts(view, files), indent=2) if request.as_json else _summary(view, files))
    if view.best is not None:
        return FOUND
    return NOTHING_PASSED if view.rounds_done else COULD_NOT_JUDGE


async def _search(request: SearchRequest, services: Services, progress: Progress) -> SearchState:
    run = SearchRun(services.store, services.evaluator, SystemClock(), progress.on_event)
    if request.resume is not None:
        return await run.resume(await _search_id(request.resume, services.store), request.rounds)
    agents = parse_agents(request.agents or request.default_agents)
    task = await resolve_task(request.task or "", services.store, Path)
    return await run.start(task, agents, request.rounds or request.default_rounds, request.seed or 0)


async def _search_id(text: str, store: Store) -> str:
    if text != LATEST:
        return text
    known = await store.events.search_ids()
    if not known:
        raise NotFoundError(f"--resume latest: no search is stored in {store.home}; start one with a TASK")
    return known[-1]


def _interrupted(search_id: str | None) -> str:
    if search_id is None:
        return "interrupted before the search began: nothing to resume"
    return f"interrupted; go on with: kernelguild search --resume {search_id}"


def _progress(stack: ExitStack) -> Progress:
    if sys.stderr.isatty():
        return stack.enter_context(LiveProgress(sys.stderr))
    return PlainProgress(sys.stderr)


@contextmanager
def _interruptible() -> Iterator[anyio.CancelScope]:
    """SIGINT and SIGTERM cancel what is inside; everything that was acknowledged is stored."""
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, scope.cancel)
        yield scope


@dataclass(frozen=True)
class Files:
    """What a search leaves to look at."""

    report: Path
    best: Path | None


def _write(folder: Path, view: SearchView, state: SearchState) -> Files:
    report = folder / "report.html"
    _replace(report, report_html(view))
    if view.best is None:
        return Files(report, None)
    best = folder / f"best{SUFFIXES[state.task.template.language if state.task.template else state.task.seed.language]}"
    _replace(best, view.best.source)
    return Files(report, best)


def _replace(path: Path, text: str) -> None:
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _summary(view: SearchView, files: Files) -> str:
    if view.best is None:
        return f"no candidate passed in {view.rounds_done} rounds\nreport       {files.report}"
    best = view.best
    how = "measured again on fresh inputs" if best.confirmed else "not measured again"
    interval = f"99 % interval {best.speedup_low:.2f} to {best.speedup_high:.2f}"
    return "\n".join(
        (
            f"best kernel  {files.best}",
            f"speedup      {best.speedup:.2f}x over the baseline ({interval}; {how})",
            f"time         {best.candidate_ms:.4g} ms, {view.device}",
            f"report       {files.report}",
        )
    )


def _facts(view: SearchView, files: Files) -> dict[str, object]:
    best = view.best
    return {
        "search_id": view.search_id,
        "status": view.status,
        "rounds_done": view.rounds_done,
        "best": best and best.model_dump(mode="json", exclude={"source"}),
        "best_path": str(files.best) if files.best else None,
        "report_path": str(files.report),
    }
