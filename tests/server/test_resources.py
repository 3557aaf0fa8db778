"""What a client can read, in both protocol eras."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextResourceContents

from kernelguild.memory.schema import (
    AgentSlots,
    PuctSettings,
    Search,
    SearchStarted,
)
from scripted_judge import DEVICE, ERAS, TASK, bench, facts_of, stored, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

NOT_FOUND = -32602


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_a_task_reads_as_a_contract_and_is_listed(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        uri = facts_of(await client.call_tool("compile", {"task": TASK, "source": "fine"}))["task_uri"]
        contract = await read(client, uri)
        assert uri in await read(client, "task://list")
    assert 'extern "C" int softmax(const float* x /* rows x cols */, float* y /* rows x cols */, int64' in contract
    assert "torch.softmax" in contract
    assert "timed shape: rows=" in contract


async def test_a_kernelbench_task_says_what_its_arguments_are(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        task = "kernelbench:swish_kernelbench/problem.py"
        uri = facts_of(await client.call_tool("compile", {"task": task, "source": "fine"}))["task_uri"]
        contract = await read(client, uri)
    assert "const pointers to what get_inputs() returns" in contract
    assert "class Model" in contract


async def test_an_artifact_is_read_page_by_page_until_its_end(era: Any, tmp_path: Path) -> None:
    data = "".join(f"line {number} \u00fc\n" for number in range(400)).encode()
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        digest = (await stored(served)).blobs.put(data)
        pages, offset = [], 0
        while offset < len(data):
            page = await read(client, f"artifact://{digest}?offset={offset}&limit=1000")
            text, _, note = page.partition("\n[bytes ")
            pages.append(text)
            offset = int(note.partition("?offset=")[2].partition("&")[0]) if note else len(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert len("".join(pages).encode()) >= len(data) - 2 * len(pages)


async def test_a_binary_artifact_is_named_and_not_shown(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        digest = (await stored(served)).blobs.put(b"\x7fELF\0\0")
        assert await read(client, f"artifact://{digest}") == "[binary file of 6 bytes: not shown]\n"


async def test_what_a_tool_links_can_be_read(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        facts = facts_of(await client.call_tool("compile", {"task": TASK, "source": "fine"}))
        assert (await read(client, facts["artifacts"][0]["uri"])).startswith("line of the log\n")


async def test_a_device_is_known_once_something_was_judged_on_it(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        assert await read(client, "device://list") == "Nothing has been measured yet.\n"
        await client.call_tool("verify", {"task": TASK, "source": "fine"})
        assert f"device://{DEVICE.model}" in await read(client, "device://list")
        assert DEVICE.toolchain in await read(client, f"device://{DEVICE.model}")


async def test_a_search_is_rendered_from_its_events(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    search = Search(
        id="a" * 32, task_id="b" * 32, task_name=TASK, puct=PuctSettings(c=1, k=8, m=0.7, rho=4, epsilon=1e-3),
        agents=(AgentSlots(agent="tuner", count=2),), rounds=16, seed=1, created_at_s=1.0,
    )  # fmt: skip
    async with Client(served.app, mode=era) as client:
        assert "No search is stored yet" in await read(client, "search://list")
        await client.call_tool("compile", {"task": TASK, "source": "fine"})
        task = await (await stored(served)).tasks.find(TASK)
        started = SearchStarted(search=search, task=task, root_candidate_id="c" * 32, root_evaluation_id="d" * 32)
        await (await stored(served)).events.append(search.id, started, sequence=1, at_s=1.0)
        assert f"search://{search.id}" in await read(client, "search://list")
        text = await read(client, f"search://{search.id}")
    assert "agents tuner:2" in text
    assert "status running, rounds 0 of 16" in text
    assert "- node 0: not timed" in text


async def test_result_schemas_are_published(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        for name in ("result", "evaluation", "task_file"):
            assert json.loads(await read(client, f"schema://{name}"))["type"] == "object"


@pytest.mark.parametrize(
    ("uri", "cure"),
    [
        ("task://" + "0" * 32, "no task has the id"),
        ("search://" + "0" * 32, "search://list names them"),
        ("artifact://" + "0" * 64, "no blob"),
        ("artifact://..%2f..%2fetc%2fpasswd", ""),
        ("device://abacus", "device://list names the models"),
        ("schema://evaluations", "known: result, evaluation"),
        ("nothing://here", ""),
    ],
)
async def test_what_does_not_exist_is_said_so(era: Any, uri: str, cure: str, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await read(client, uri)
    assert caught.value.code == NOT_FOUND
    assert cure in caught.value.message


async def test_a_damaged_blob_is_our_failure(era: Any, tmp_path: Path) -> None:
    served = bench(tmp_path)
    async with Client(served.app, mode=era) as client:
        digest = (await stored(served)).blobs.put(b"good")
        (blob,) = (tmp_path / "blobs").glob(f"*/*/{digest}")
        blob.write_bytes(b"evil")
        with pytest.raises(MCPError, match="the blob is damaged"):
            await read(client, f"artifact://{digest}")


async def test_the_prompt_carries_the_loop_and_the_contract(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        (listed,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt("optimize_kernel", {"task": TASK})).messages
        with pytest.raises(MCPError, match="no task is named 'nothing'"):
            await client.get_prompt("optimize_kernel", {"task": "nothing"})
    text = str(message.content)
    assert listed.name == "optimize_kernel"
    for word in ("compile", "verify", "profile", "int softmax("):
        assert word in text
    assert "$" not in text


async def test_names_are_completed(era: Any, tmp_path: Path) -> None:
    async with Client(bench(tmp_path).app, mode=era) as client:
        uri = facts_of(await client.call_tool("compile", {"task": TASK, "source": "fine"}))["task_uri"]
        task_id = uri.removeprefix("task://")
        prompt = PromptReference(name="optimize_kernel")
        by_name = await client.complete(prompt, {"name": "task", "value": "soft"})
        template = ResourceTemplateReference(uri="task://{task_id}")
        by_id = await client.complete(template, {"name": "task_id", "value": task_id[:4]})
    assert by_name.completion.values == [TASK]
    assert by_id.completion.values == [task_id]


async def test_a_home_that_cannot_be_used_is_said_once_asked_and_not_before(era: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file", encoding="utf-8")
    async with Client(bench(home).app, mode=era) as client:
        assert (await client.list_tools()).tools
        result = await client.call_tool("job", {"action": "list"})
        home.unlink()
        cured = await client.call_tool("job", {"action": "list"})
    assert "cannot be used as a home" in text_of(result)
    assert facts_of(cured) == {"jobs": []}
