"""Everything that is stored, readable by URI; `list` in place of an id says what there is."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from ..memory.errors import NotFoundError
from ..resources.artifact import DEFAULT_PAGE_BYTES, artifact_page
from ..resources.device import device_list_markdown, device_markdown
from ..resources.schemas import SCHEMAS, schema_json
from ..resources.search import search_list_markdown, search_markdown
from ..resources.task import task_list_markdown, task_markdown
from .engine import Engine
from .explain import explain

if TYPE_CHECKING:
    from ..memory.store import Store

MARKDOWN = "text/markdown"
MAX_COMPLETIONS = 100
Parameters = ParamSpec("Parameters")


def register_resources(app: MCPServer[Any], engine: Engine) -> None:
    """Mount the readable records on the app."""

    async def store() -> Store:
        return (await engine.services()).store

    @app.resource("task://{task_id}", name="task", description="A task: signature, limits, sources", mime_type=MARKDOWN)
    @_readable
    async def task(task_id: str) -> str:
        tasks = (await store()).tasks
        return task_list_markdown(await tasks.list()) if task_id == "list" else task_markdown(await tasks.get(task_id))

    @app.resource("search://{search_id}", name="search", description="A search: tree and best", mime_type=MARKDOWN)
    @_readable
    async def search(search_id: str) -> str:
        events = (await store()).events
        if search_id == "list":
            return search_list_markdown(await events.search_ids())
        return search_markdown(search_id, await events.read(search_id))

    @app.resource("device://{model}", name="device", description="What was measured on", mime_type=MARKDOWN)
    @_readable
    async def device(model: str) -> str:
        devices = await (await store()).evaluations.devices()
        return device_list_markdown(devices) if model == "list" else device_markdown(model, devices)

    @app.resource("artifact://{digest}{?offset,limit}", name="artifact", description="A stored file, by pages of bytes")
    @_readable
    async def artifact(digest: str, offset: int = 0, limit: int = DEFAULT_PAGE_BYTES) -> str:
        return artifact_page(digest, (await store()).blobs.get(digest), offset, limit)

    @app.resource("schema://{name}", name="schema", description="JSON schema of a record", mime_type="application/json")
    @_readable
    async def schema(name: str) -> str:
        return schema_json(name)

    _list_statically(app, {"task": task, "search": search, "device": device})
    _complete_names(app, store)


def _list_statically(app: MCPServer[Any], readers: dict[str, Callable[[str], Awaitable[str]]]) -> None:
    """The indexes stand in resources/list, so that a host can find the templates' ids."""
    for kind, reader in readers.items():
        app.resource(f"{kind}://list", name=f"{kind}-list", description=f"Every stored {kind}", mime_type=MARKDOWN)(
            functools.partial(reader, "list")
        )


def _complete_names(app: MCPServer[Any], store: Callable[[], Awaitable[Store]]) -> None:
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if isinstance(ref, PromptReference):
            names = [task.name for task in await (await store()).tasks.list()]
        elif ref.uri.startswith("task://"):
            names = [task.id for task in await (await store()).tasks.list()]
        elif ref.uri.startswith("schema://"):
            names = list(SCHEMAS)
        else:
            return None
        fitting = list(dict.fromkeys(name for name in names if name.startswith(argument.value)))
        return Completion(values=fitting[:MAX_COMPLETIONS], total=len(fitting), has_more=len(fitting) > MAX_COMPLETIONS)

    app.completion()(complete)  # type: ignore[no-untyped-call]  # the SDK left it untyped


def _readable(read: Callable[Parameters, Awaitable[str]]) -> Callable[Parameters, Awaitable[str]]:
    """Errors as the protocol has them: what does not exist apart from what failed, each with its text."""

    @functools.wraps(read)
    async def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> str:
        try:
            return await read(*args, **kwargs)
        except NotFoundError as error:
            raise ResourceNotFoundError(str(error)) from error
        except Exception as error:  # anything else would reach the client as a bare "Error reading resource"
            raise ResourceError(explain(error)) from error

    return guarded
