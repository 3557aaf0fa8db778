"""Tools that ask the client back, in the way of each protocol era, and what subscriptions listen to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmptyResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

AnyContext = Context[Any, Any]


def mount(app: MCPServer[Any]) -> None:
    """Add everything of this module to an app."""
    for name, tool in TOOLS.items():
        app.add_tool(tool, name=name)
    _mount_changes(app)
    _mount_requests(app)
    app.add_prompt(Prompt.from_function(context_prompt, name="test_input_required_result_prompt"))


# The handshake era: the server sends requests of its own.


async def logging_tool(context: AnyContext) -> str:
    """Log three lines."""
    for line in ("one", "two", "three"):
        await context.info(line)  # type: ignore[deprecated]  # the scenario asks for it
    return "logged"


async def sampling(prompt: str, context: AnyContext) -> str:
    """Ask the client's model."""
    result = await context.session.create_message(
        messages=[SamplingMessage(role="user", content=TextContent(type="text", text=prompt))],
        max_tokens=100,
        related_request_id=context.request_id,
    )
    return f"the model said {result.content}"


class Answer(BaseModel):
    """One free answer."""

    response: str = Field(description="the answer")


class WithDefaults(BaseModel):
    """A default of every primitive type."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Annotated[str, Field(json_schema_extra={"enum": ["active", "inactive", "pending"]})] = "active"
    verified: bool = True


def _titled(**titles: str) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in titles.items()]


class Choices(BaseModel):
    """Every way to write a choice."""

    untitledSingle: Annotated[str, Field(json_schema_extra={"enum": ["a", "b", "c"]})]  # noqa: N815 - the scenario's
    titledSingle: Annotated[str, Field(json_schema_extra={"oneOf": _titled(a="A", b="B")})]  # noqa: N815 - names
    untitledMulti: Annotated[  # noqa: N815
        list[str], Field(json_schema_extra={"items": {"type": "string", "enum": ["a", "b", "c"]}})
    ]
    titledMulti: Annotated[list[str], Field(json_schema_extra={"items": {"anyOf": _titled(a="A", b="B")}})]  # noqa: N815
    legacyEnum: Annotated[  # noqa: N815
        str, Field(json_schema_extra={"enum": ["a", "b"], "enumNames": ["A", "B"]})
    ]


async def elicitation(message: str, context: AnyContext) -> str:
    """Ask the user."""
    return await _asked(context, message, Answer)


async def elicitation_defaults(context: AnyContext) -> str:
    """Ask with defaults."""
    return await _asked(context, "defaults", WithDefaults)


async def elicitation_enums(context: AnyContext) -> str:
    """Ask for choices."""
    return await _asked(context, "choices", Choices)


async def _asked(context: AnyContext, message: str, model: type[BaseModel]) -> str:
    result = await context.elicit(message=message, schema=model)
    content = result.data.model_dump_json() if result.action == "accept" else "{}"
    return f"action={result.action}, content={content}"


# The era of 2026-07-28: the server answers that input is required, and the client calls again with it.


def _question(field: str, kind: Literal["string", "boolean"] = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=f"{field}?", requested_schema=schema))


def _sample(text: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=50))


def _answer(context: AnyContext, key: str, field: str) -> str | None:
    given = (context.input_responses or {}).get(key)
    return str(given.content.get(field)) if isinstance(given, ElicitResult) and given.content else None


async def ask_name(context: AnyContext) -> str | InputRequiredResult:
    """Need an answer of the user."""
    name = _answer(context, "user_name", "name")
    return f"hello {name}" if name else InputRequiredResult(input_requests={"user_name": _question("name")})


async def ask_model(context: AnyContext) -> str | InputRequiredResult:
    """Need an answer of the model."""
    if "capital" in (context.input_responses or {}):
        return "the model answered"
    return InputRequiredResult(input_requests={"capital": _sample("the capital of France?")})


async def ask_roots(context: AnyContext) -> str | InputRequiredResult:
    """Need the client's roots."""
    if "roots" in (context.input_responses or {}):
        return "the roots came"
    return InputRequiredResult(input_requests={"roots": ListRootsRequest()})


async def ask_with_state(context: AnyContext) -> str | InputRequiredResult:
    """Need a confirmation, and the state back."""
    if context.request_state == "first" and _answer(context, "confirm", "ok"):
        return "state-ok"
    return InputRequiredResult(input_requests={"confirm": _question("ok", "boolean")}, request_state="first")


async def ask_everything(context: AnyContext) -> str | InputRequiredResult:
    """Need three answers at once."""
    requests: dict[str, InputRequest] = {
        "user_name": _question("name"),
        "greeting": _sample("a greeting"),
        "roots": ListRootsRequest(),
    }
    if requests.keys() <= (context.input_responses or {}).keys():
        return "all came"
    return InputRequiredResult(input_requests=requests, request_state="everything")


async def ask_twice(context: AnyContext) -> str | InputRequiredResult:
    """Need two answers, one after the other."""
    state = json.loads(context.request_state or "{}")
    name, color = _answer(context, "step1", "name"), _answer(context, "step2", "color")
    if "name" in state and color:
        return f"{state['name']} likes {color}"
    if state.get("asked") and name:
        return InputRequiredResult(
            input_requests={"step2": _question("color")}, request_state=json.dumps({"name": name})
        )
    return InputRequiredResult(input_requests={"step1": _question("name")}, request_state=json.dumps({"asked": True}))


async def ask_what_is_possible(context: AnyContext) -> InputRequiredResult:
    """Ask only for what the client can give."""
    can = context.client_capabilities
    requests: dict[str, InputRequest] = {}
    if can is None or can.sampling is not None:
        requests["sample"] = _sample("hello")
    if can is None or can.elicitation is not None:
        requests["ask"] = _question("name")
    return InputRequiredResult(input_requests=requests, request_state="possible")


async def needs_sampling(context: AnyContext) -> str:
    """Refuse clients that cannot sample."""
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        required: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "needs the capability sampling", required)
    return "sampling is there"


async def context_prompt(context: AnyContext) -> list[UserMessage] | InputRequiredResult:
    """Need an answer before there is a prompt."""
    given = _answer(context, "user_context", "context")
    if given:
        return [UserMessage(content=f"with {given}")]
    return InputRequiredResult(input_requests={"user_context": _question("context")})


TOOLS: dict[str, Callable[..., Any]] = {
    "test_tool_with_logging": logging_tool,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": ask_model,
    "test_input_required_result_list_roots": ask_roots,
    "test_input_required_result_request_state": ask_with_state,
    "test_input_required_result_tampered_state": ask_with_state,
    "test_input_required_result_multiple_inputs": ask_everything,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_is_possible,
    "test_missing_capability": needs_sampling,
}


def _mount_changes(app: MCPServer[Any]) -> None:
    async def dynamic() -> str:
        """Come and go."""
        return "dynamic"

    @app.tool(name="test_trigger_tool_change")
    async def change_tools(context: AnyContext) -> str:
        """Change the list of tools and say so."""
        app.add_tool(dynamic, name="test_dynamic")
        app.remove_tool("test_dynamic")
        await context.notify_tools_changed()
        return "changed"

    @app.tool(name="test_trigger_prompt_change")
    async def change_prompts(context: AnyContext) -> str:
        """Change the list of prompts and say so."""
        app.add_prompt(Prompt.from_function(dynamic, name="test_dynamic"))
        app.remove_prompt("test_dynamic")
        await context.notify_prompts_changed()
        return "changed"


def _mount_requests(app: MCPServer[Any]) -> None:
    """Requests of the handshake era that MCPServer has no public door for."""
    server = app._lowlevel_server  # noqa: SLF001 - see above

    async def set_level(context: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
        return EmptyResult()

    async def subscribe(
        context: ServerRequestContext[Any, Any], params: SubscribeRequestParams | UnsubscribeRequestParams
    ) -> EmptyResult:
        return EmptyResult()

    server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
    server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscribe)
