"""A stand-in of the OpenAI Responses API: Codex talks to it as to the real one, in both of its tool modes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager

from clients.conversation import TOOL_PREFIX, Call, Conversation, Exchange, Mind, stuck
from clients.model_api import Json, ModelApi, model_api

API_KEY = "dummy-key"
CODE_CALL = re.compile(r"tools\.(\w+)\((.*)\);$", re.MULTILINE)
CODE_TOOL = re.compile(r"declare const tools: \{ (\w+)\(")
CODE_SEARCH = "ALL_TOOLS"
"""The table in which code finds the tools that the model was not shown at first."""
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}


def responses_api(mind: Mind) -> AbstractContextManager[ModelApi]:
    """Serve the Responses API with this mind behind it."""
    key = {"authorization": f"Bearer {API_KEY}"}
    return model_api("/v1/responses", key, lambda request: _stream(request, _item(request, mind)))


def _item(request: Json, mind: Mind) -> Json:
    """The model's next item: a call, the search for a tool that it was not shown yet, or a message."""
    conversation = read_conversation(request)
    decision = mind(conversation)
    if isinstance(decision, str):
        return _message(decision)
    by_code = not request.get("tools")
    name = conversation.tools.get(decision.tool)
    if name is not None:
        return _code_call(name, decision) if by_code else _function_call(name, decision)
    if _has_just_searched(request):
        return _message(stuck(f"no tool {decision.tool} among {', '.join(conversation.tools) or 'none'}"))
    return _code_search() if by_code else _tool_search(decision.tool)


def _has_just_searched(request: Json) -> bool:
    call_and_output = request["input"][-2:]
    return any(
        item["type"] == "tool_search_output" or CODE_SEARCH in str(item.get("input")) for item in call_and_output
    )


def read_conversation(request: Json) -> Conversation:
    """What the model is shown by a Responses request."""
    prompts: list[str] = []
    calls: dict[str, Call] = {}
    exchanges: list[Exchange] = []
    tools = [tool["name"] for tool in request.get("tools", ()) if tool["type"] == "function"]
    for item in request["input"]:
        match item["type"]:
            case "message" if item["role"] == "user":
                prompts.append(_text(item["content"]))
            case "function_call" | "custom_tool_call":
                calls[item["call_id"]] = _call(item)
            case "function_call_output" | "custom_tool_call_output":
                exchanges.append(Exchange(calls[item["call_id"]], _text(item["output"])))
        tools += _tools_shown(item)
    return Conversation(
        prompt="\n".join(prompts),
        exchanges=tuple(exchange for exchange in exchanges if exchange.call.tool != CODE_SEARCH),
        tools={name.removeprefix(TOOL_PREFIX): name for name in tools},
    )


def _tools_shown(item: Json) -> list[str]:
    """The names that an item declares: the answer of a search, or what `exec` may use."""
    if item["type"] == "tool_search_output":
        return [f"{space['name']}__{tool['name']}" for space in item["tools"] for tool in space["tools"]]
    if item["type"] in ("additional_tools", "custom_tool_call_output"):
        return CODE_TOOL.findall(json.dumps(item))
    return []


def _call(item: Json) -> Call:
    """The call that the model made, read back from its item."""
    if item["type"] == "function_call":
        return Call(item["name"], json.loads(item["arguments"]))
    called = CODE_CALL.search(item["input"])
    return Call(called[1].removeprefix(TOOL_PREFIX), json.loads(called[2])) if called else Call(CODE_SEARCH, {})


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def _function_call(name: str, call: Call) -> Json:
    space, _, bare = name.rpartition("__")
    namespace = {"namespace": space} if space else {}
    return {"type": "function_call", "name": bare, **namespace, "arguments": json.dumps(dict(call.arguments))}


def _tool_search(tool: str) -> Json:
    return {"type": "tool_search_call", "execution": "client", "arguments": {"query": f"{tool} kernel", "limit": 8}}


def _code_call(name: str, call: Call) -> Json:
    arguments = json.dumps(dict(call.arguments))
    return _code(f"const result = await tools.{name}({arguments});\ntext(result.structuredContent ?? result);")


def _code_search() -> Json:
    return _code(f"text({CODE_SEARCH}.filter((tool) => tool.name.startsWith('{TOOL_PREFIX}')));")


def _code(script: str) -> Json:
    # By default an unfinished script is yielded to the model after 30 s.
    return {"type": "custom_tool_call", "name": "exec", "input": f'// @exec: {{"yield_time_ms": 60000}}\n{script}'}


def _stream(request: Json, item: Json) -> Iterator[Json]:
    """The events of one response with one item."""
    number = len(request["input"])
    item = {"id": f"item_{number}", "status": "completed", **item}
    if item["type"] != "message":
        item["call_id"] = f"call_{number}"
    response = {"id": f"resp_{number}", "object": "response", "model": request["model"]}
    events: list[Json] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": USAGE},
        },
    ]
    for sequence_number, event in enumerate(events):
        yield {**event, "sequence_number": sequence_number}
