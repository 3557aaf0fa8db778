"""The tools compile, verify and profile: one question to the judge each, deeper every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from ..memory.schema import Evaluation, Job, Language, Tier
from ..resources.result import ARTIFACT_URI, Link, evaluation_result
from ..resources.running import running
from ..resources.shorten import MIN_CHARS, shorten
from ..tools.judge.request import Progress
from .arguments import Workspace, resolve_candidate, resolve_task
from .engine import Engine
from .runs import JudgeRequest, Report
from .tool import answer, tool

if TYPE_CHECKING:
    from ..memory.store import Store

DEFAULT_WAIT_S = 45
MAX_WAIT_S = 55
DEFAULT_CHARS = 8_000
MAX_CHARS = 60_000

TaskName = Annotated[str, Field(description="task.yaml or folder, kernelbench:FILE.py, or a stored name")]
Source = Annotated[str, Field(description="Source text; or use path")]
SourcePath = Annotated[str, Field(description="Source file in the workspace")]
LanguageName = Annotated[
    Literal["auto", "cpp", "cuda", "triton", "pytorch"], Field(description="auto: by suffix, else the seed's")
]
Fresh = Annotated[bool, Field(strict=True, description="Measure again")]
Depth = Annotated[Literal["timing", "deep"], Field(description="deep adds hardware counters")]
Wait = Annotated[int, Field(strict=True, ge=0, le=MAX_WAIT_S, description="Seconds before a job id answers")]
Chars = Annotated[int, Field(strict=True, ge=MIN_CHARS, le=MAX_CHARS, description="Limit of the answer")]

COMPILE = (
    "Compile a kernel (C++, CUDA, Triton or PyTorch source) for a task: compiler errors with lines, "
    "registers, spills. Then verify."
)
VERIFY = (
    "Check a kernel's correctness: runs it sandboxed on the task's and hidden shapes, compares with the "
    "PyTorch reference. Errors per output and shape. Then profile."
)
PROFILE = (
    "Benchmark a kernel to optimise performance: verifies, then times it interleaved with the baseline. Time per "
    "shape, speedup with 99 % interval; faster, slower or inconclusive."
)


class JudgeTools:
    """The three tools over one engine and one workspace."""

    def __init__(self, engine: Engine, workspace: Workspace) -> None:
        self._engine = engine
        self._workspace = workspace

    def tools(self) -> list[Tool]:
        """In the order in which an agent uses them."""
        return [
            tool(self.compile, COMPILE, idempotent=True),
            # With fresh=true each call adds a verdict to the store.
            tool(self.verify, VERIFY, idempotent=False),
            tool(self.profile, PROFILE, idempotent=False),
        ]

    async def compile(
        self,
        context: Context[Any, Any],
        task: TaskName,
        source: Source = "",
        path: SourcePath = "",
        language: LanguageName = "auto",
        wait_s: Wait = DEFAULT_WAIT_S,
        max_chars: Chars = DEFAULT_CHARS,
    ) -> CallToolResult:
        request = await self._request(task, source, path, language, Tier.COMPILE, fresh=False)
        return await self._judge(request, wait_s, max_chars, context)

    async def verify(
        self,
        context: Context[Any, Any],
        task: TaskName,
        source: Source = "",
        path: SourcePath = "",
        language: LanguageName = "auto",
        fresh: Fresh = False,
        wait_s: Wait = DEFAULT_WAIT_S,
        max_chars: Chars = DEFAULT_CHARS,
    ) -> CallToolResult:
        request = await self._request(task, source, path, language, Tier.VERIFY, fresh=fresh)
        return await self._judge(request, wait_s, max_chars, context)

    async def profile(
        self,
        context: Context[Any, Any],
        task: TaskName,
        source: Source = "",
        path: SourcePath = "",
        language: LanguageName = "auto",
        depth: Depth = "timing",
        fresh: Fresh = False,
        wait_s: Wait = DEFAULT_WAIT_S,
        max_chars: Chars = DEFAULT_CHARS,
    ) -> CallToolResult:
        tier = Tier.DEEP if depth == "deep" else Tier.PROFILE
        request = await self._request(task, source, path, language, tier, fresh=fresh)
        return await self._judge(request, wait_s, max_chars, context)

    async def _request(
        self, spec: str, source: str, path: str, language: str, tier: Tier, *, fresh: bool
    ) -> JudgeRequest:
        services = await self._engine.services()
        locate = self._workspace.locate
        task = await resolve_task(spec, services.store, locate)
        chosen = None if language == "auto" else Language(language)
        candidate = await resolve_candidate(source, path, chosen, task=task, locate=locate)
        return JudgeRequest(task, candidate, tier, fresh)

    async def _judge(
        self, request: JudgeRequest, wait_s: float, max_chars: int, context: Context[Any, Any]
    ) -> CallToolResult:
        services = await self._engine.services()
        outcome = await self._engine.runs.judge(request, wait_s, report_to(context))
        return judged(outcome, request.candidate.language, services.store, max_chars)


def report_to(context: Context[Any, Any]) -> Report:
    """Progress notifications for the call; hosts that asked for none get none."""

    async def report(progress: Progress) -> None:
        await context.report_progress(progress.done, progress.total, progress.message)

    return report


def judged(outcome: Evaluation | Job, language: Language, store: Store, max_chars: int) -> CallToolResult:
    """The evaluation within `max_chars`, or that it goes on as a job."""
    if isinstance(outcome, Job):
        return answer(running(outcome, None))

    def keep(data: bytes) -> Link:
        return Link(name="result.json", uri=ARTIFACT_URI.format(digest=store.blobs.put(data)), size_bytes=len(data))

    result = shorten(evaluation_result(outcome, language), max_chars, keep)
    return answer(result.facts(), result.artifacts)
