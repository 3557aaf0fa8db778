"""A stand-in of the Anthropic Messages API: Claude Code talks to it as to the real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from clients.conversation import TOOL_PREFIX, Call, Conversation, Exchange, Mind, stuck
from clients.model_api import Json, ModelApi, model_api

API_KEY = "dummy-key"
USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 10}


def messages_api(mind: Mind) -> AbstractContextManager[ModelApi]:
    """Serve the Messages API with this mind behind it."""
    return model_api("/v1/messages", {"x-api-key": API_KEY}, lambda request: _answer(request, mind))


def _answer(request: Json, mind: Mind) -> Iterator[Json]:
    conversation = read_conversation(request)
    decision = mind(conversation)
    return _stream(request, _text_block(decision) if isinstance(decision, str) else _tool_use(decision, conversation))


def read_conversation(request: Json) -> Conversation:
    """What the model is shown by a Messages request."""
    prompts: list[str] = []
    calls: dict[str, Call] = {}
    exchanges: list[Exchange] = []
    for message in request["messages"]:
        for block in _blocks(message["content"]):
            match block["type"]:
                case "text" if message["role"] == "user":
                    prompts.append(block["text"])
                case "tool_use":
                    calls[block["id"]] = Call(block["name"].removeprefix(TOOL_PREFIX), block["input"])
                case "tool_result":
                    exchanges.append(Exchange(calls[block["tool_use_id"]], _text(block["content"])))
    tools = {tool["name"].removeprefix(TOOL_PREFIX): tool["name"] for tool in request.get("tools", ())}
    return Conversation("\n".join(prompts), tuple(exchanges), tools)


def _blocks(content: str | list[Json]) -> list[Json]:
    return [_text_block(content)] if isinstance(content, str) else content


def _text(content: str | list[Json]) -> str:
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")


def _tool_use(call: Call, conversation: Conversation) -> Json:
    name = conversation.tools.get(call.tool)
    if name is None:
        return _text_block(stuck(f"no tool {call.tool} among {', '.join(conversation.tools) or 'none'}"))
    call_id = f"toolu_{len(conversation.exchanges):04}"
    return {"type": "tool_use", "id": call_id, "name": name, "input": dict(call.arguments)}


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def _stream(request: Json, block: Json) -> Iterator[Json]:
    """The events of one message with one content block."""
    yield {
        "type": "message_start",
        "message": {
            "id": f"msg_{len(request['messages']):04}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": USAGE,
        },
    }
    start, delta, stop_reason = _parts(block)
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": USAGE["output_tokens"]}}
    yield {"type": "message_stop"}


def _parts(block: dict[str, Any]) -> tuple[Json, Json, str]:
    """The empty block that starts, the delta that fills it, and why the message stops."""
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}, "end_turn"
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}, "tool_use"
