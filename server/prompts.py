"""The prompt optimize_kernel: the loop for one task, with the task's contract in it."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import Any

from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from ..agents_cfg import prompts
from ..memory.errors import InputError
from ..resources.task import task_markdown
from .arguments import Workspace, resolve_task
from .engine import Engine
from .judge_tools import TaskName

PROMPT_FILE = "optimize_kernel.md"


def register_prompts(app: MCPServer[Any], engine: Engine, workspace: Workspace) -> None:
    """Mount the prompts on the app."""

    @app.prompt(name="optimize_kernel", description="Make the kernel of a task faster, with proof")
    async def optimize_kernel(
        task: TaskName,
    ) -> str:
        try:
            found = await resolve_task(task, (await engine.services()).store, workspace.locate)
        except InputError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        text = files(prompts).joinpath(PROMPT_FILE).read_text(encoding="utf-8")
        return Template(text).substitute(task=task, contract=task_markdown(found))
