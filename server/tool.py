"""A tool whose every refusal can be read and acted on."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ResourceLink, TextContent, ToolAnnotations
from pydantic import ValidationError

from ..resources.outline import outline
from ..resources.result import Link
from ..resources.untrusted import clean
from .explain import explain

MAX_REFUSAL_CHARS = 4_000
# Claude Code writes longer results to a file that an agent without file tools cannot read.
SHOWN_WHOLE = {"anthropic/maxResultSizeChars": 100_000}


class GuardedTool(Tool):
    """A tool that refuses unknown arguments and turns every error into a text with its cure."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Run the tool.

        Raises:
            ToolError: the arguments are wrong or the tool failed; the text says what to do.
        """
        self._refuse_unknown(arguments)
        try:
            return await super().run(arguments, context, convert_result=convert_result)
        except UnexpectedToolError as crash:
            cause = crash.__cause__
            raise _refusal(explain(cause if isinstance(cause, Exception) else crash)) from None
        except ToolError as refusal:
            if isinstance(refusal.__cause__, ValidationError):
                raise _refusal(_wrong_arguments(self.name, refusal.__cause__)) from None
            raise

    def _refuse_unknown(self, arguments: Mapping[str, Any]) -> None:
        known = list(self.parameters["properties"])
        for name in arguments:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise _refusal(f"{self.name} has no argument {name!r}: {hint}Known: {', '.join(known)}.")


def tool(function: Callable[..., Awaitable[CallToolResult]], description: str, *, idempotent: bool) -> Tool:
    """A guarded tool of a coroutine function; its annotated parameters become the schema.

    Our tools run untrusted code, but confined, and keep every record: nothing is destroyed, no open world is touched.
    """
    annotations = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=idempotent, open_world_hint=False
    )
    made = GuardedTool.from_function(
        function, description=description, annotations=annotations, meta=SHOWN_WHOLE, structured_output=False
    )
    made.parameters = _without_titles(made.parameters)
    return made


def answer(facts: Mapping[str, Any], links: tuple[Link, ...] = ()) -> CallToolResult:
    """The same facts for hosts that show the model data and for hosts that show it text."""
    text = TextContent(type="text", text=outline(facts))
    resources = [
        ResourceLink(type="resource_link", name=link.name, uri=link.uri, size=link.size_bytes) for link in links
    ]
    return CallToolResult(content=[text, *resources], structured_content=dict(facts))


def _refusal(text: str) -> ToolError:
    """Messages quote what the caller or a file said, so they are as untrusted and as long as that."""
    return ToolError(clean(text)[:MAX_REFUSAL_CHARS])


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without pydantic's titles, which repeat the names, and closed to unknown arguments."""
    properties = {
        name: {key: value for key, value in declared.items() if key != "title"}
        for name, declared in schema["properties"].items()
    }
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _wrong_arguments(tool_name: str, invalid: ValidationError) -> str:
    """Which argument is wrong and why, without echoing its value."""
    problems = [
        f"{'.'.join(str(part) for part in detail['loc'])}: {detail['msg']}"
        for detail in invalid.errors(include_input=False, include_url=False)
    ]
    return f'{tool_name}: {"; ".join(problems)}. Values are not converted: a number is 45, not "45".'
