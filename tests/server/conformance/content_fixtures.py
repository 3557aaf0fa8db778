"""Tools, resources and prompts that the conformance scenarios on content ask for by name."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent, TextResourceContents


def _png() -> str:
    """One red pixel."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0\xff\0\0")), (b"IEND", b"")]
    chunks = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def _wav() -> str:
    """One silent sample."""
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8_000, 16_000, 2, 16)
    body = b"WAVE" + form + b"data" + struct.pack("<I", 2) + b"\0\0"
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


IMAGE = ImageContent(type="image", data=_png(), mime_type="image/png")
AUDIO = AudioContent(type="audio", data=_wav(), mime_type="audio/wav")


def _embedded(uri: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type="text/plain", text="embedded words")
    )


def mount(app: MCPServer[Any]) -> None:
    """Add everything of this module to an app."""
    for name, tool in TOOLS.items():
        app.add_tool(tool, name=name)
    _mount_resources(app)
    _mount_prompts(app)


async def simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


async def image() -> list[ImageContent]:
    """Answer with an image."""
    return [IMAGE]


async def audio() -> list[AudioContent]:
    """Answer with a sound."""
    return [AUDIO]


async def embedded() -> list[EmbeddedResource]:
    """Answer with a resource in the answer."""
    return [_embedded("test://embedded-resource")]


async def mixed() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Answer with text, an image and a resource."""
    return [TextContent(type="text", text="mixed"), IMAGE, _embedded("test://mixed-content-resource")]


async def progressing(context: Context[Any, Any]) -> str:
    """Report three steps."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100, f"step {done}")
    return "done"


async def failing() -> str:
    """Fail."""
    raise RuntimeError("on purpose")


TOOLS: dict[str, Callable[..., Any]] = {
    "test_simple_text": simple_text,
    "test_image_content": image,
    "test_audio_content": audio,
    "test_embedded_resource": embedded,
    "test_multiple_content_types": mixed,
    "test_tool_with_progress": progressing,
    "test_error_handling": failing,
}


def _mount_resources(app: MCPServer[Any]) -> None:
    @app.resource("test://static-text")
    async def static_text() -> str:
        return "static words"

    @app.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        return base64.b64decode(IMAGE.data)

    @app.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:  # noqa: A002 - the scenario names the variable
        return json.dumps({"id": id})

    @app.resource("test://watched-resource")
    async def watched() -> str:
        return "watched words"


def _mount_prompts(app: MCPServer[Any]) -> None:
    @app.prompt(name="test_simple_prompt", description="A fixed text")
    async def simple() -> str:
        return "a simple prompt"

    @app.prompt(name="test_prompt_with_arguments", description="A text with two arguments")
    async def with_arguments(arg1: str, arg2: str) -> str:
        return f"arg1={arg1}, arg2={arg2}"

    @app.prompt(name="test_prompt_with_embedded_resource", description="A text about a resource")
    async def with_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the scenario names the argument
        return [UserMessage(content=_embedded(resourceUri)), UserMessage(content="read it")]

    @app.prompt(name="test_prompt_with_image", description="A text about an image")
    async def with_image() -> list[UserMessage]:
        return [UserMessage(content=IMAGE), UserMessage(content="look at it")]
