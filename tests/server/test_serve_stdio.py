"""`kernelguild serve` over stdio, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]  # it ships no types
import pytest
from mcp import Client, stdio_client

from real_server import BOUND_S, HANG, family, over_stdio, server_command, survivors
from scripted_judge import ERAS, EXAMPLES, TASK, facts_of, text_of

pytestmark = pytest.mark.anyio

HEAVY = ("torch", "triton", "anthropic", "numpy", "rich", "jinja2", "aiosqlite")
VERSION = "2025-11-25"


class Wire:
    """A host that speaks the handshake era by hand, so that a test can die at any moment."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._id = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer; notifications in between are dropped."""
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        while True:
            line = _pipe(self.process.stdout).readline()
            assert line, "the server has closed its output"
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._id:
                return message

    def send(self, message: dict[str, Any]) -> None:
        """One message."""
        stdin = _pipe(self.process.stdin)
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        stdin.flush()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured facts of a tool call."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result.get("isError"), result
        facts: dict[str, Any] = result["structuredContent"]
        return facts


@contextmanager
def wired(home: Path) -> Iterator[Wire]:
    """A server after its handshake; whatever is left of it is killed in the end."""
    command = server_command("--home", str(home), "--workspace", str(EXAMPLES))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    killer = threading.Timer(BOUND_S, process.kill)
    killer.start()
    try:
        wire = Wire(process)
        client_info = {"name": "test", "version": "0"}
        wire.ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client_info})
        wire.send({"method": "notifications/initialized"})
        yield wire
    finally:
        killer.cancel()
        process.kill()
        for pipe in (process.stdin, process.stdout):
            _pipe(pipe).close()
        process.wait()


def hanging_job(wire: Wire) -> tuple[str, list[psutil.Process]]:
    """A job whose candidate never returns, and every process that works on it."""
    job_id = wire.call("verify", task=TASK, source=HANG, language="cpp", wait_s=0)["job_id"]
    while "progress" not in wire.call("job", action="status", job_id=job_id):
        wire.call("job", action="result", job_id=job_id, wait_s=1)
    processes = family(psutil.Process(wire.process.pid))
    assert len(processes) > 1
    return str(job_id), processes


@pytest.mark.parametrize("era", ERAS)
async def test_the_handshake_imports_nothing_heavy(era: Any, tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    with log.open("w", encoding="utf-8") as stderr:
        transport = stdio_client(over_stdio(tmp_path / "home", python=("-X", "importtime")), errlog=stderr)
        async with Client(transport, mode=era) as client:
            assert len((await client.list_tools()).tools) == 4
            imported = _imported(log)
            facts_of(await client.call_tool("job", {"action": "list"}))
        after_a_call = _imported(log)
    assert "mcp" in imported
    assert imported.isdisjoint(HEAVY)
    assert "aiosqlite" in after_a_call
    assert after_a_call.isdisjoint({"torch", "triton", "anthropic", "numpy"})


@pytest.mark.parametrize("era", ERAS)
async def test_a_kernel_goes_from_compile_error_to_a_proven_speedup(era: Any, tmp_path: Path) -> None:
    broken = 'extern "C" int forward(const float* x, float* y) {\n    retrn 0;\n}\n'
    question = {"task": "kernelbench:swish_kernelbench/problem.py", "language": "cpp"}
    right = {**question, "path": "swish_kernelbench/swish.cpp"}
    async with Client(over_stdio(tmp_path), mode=era) as client:
        wrong = facts_of(await client.call_tool("compile", {**question, "source": broken}))
        compiled = facts_of(await client.call_tool("compile", right))
        verified = facts_of(await client.call_tool("verify", right))
        profiled = facts_of(await client.call_tool("profile", right))
        while profiled["status"] == "running":
            profiled = facts_of(await client.call_tool("job", {"action": "result", "job_id": profiled["job_id"]}))
    assert wrong["status"] == "compile_error"
    assert "Fix line 2" in wrong["next_steps"][0]
    assert (compiled["status"], verified["status"], profiled["status"]) == ("passed", "passed", "passed")
    assert profiled["verdict"] in {"faster", "slower", "inconclusive", "suspect"}
    assert profiled["speedup"]["low"] <= profiled["speedup"]["value"] <= profiled["speedup"]["high"]


async def test_two_servers_share_a_home_at_once(tmp_path: Path) -> None:
    question = {"task": TASK, "path": f"{TASK}/seed.cpp"}
    async with Client(over_stdio(tmp_path)) as one, Client(over_stdio(tmp_path)) as other:
        first = facts_of(await one.call_tool("compile", question))
        second = facts_of(await other.call_tool("compile", question))
        job = facts_of(await one.call_tool("verify", {"task": TASK, "source": HANG, "wait_s": 0}))
        seen = facts_of(await other.call_tool("job", {"action": "status", "job_id": job["job_id"]}))
        refused = await other.call_tool("job", {"action": "cancel", "job_id": job["job_id"]})
        cancelled = facts_of(await one.call_tool("job", {"action": "cancel", "job_id": job["job_id"]}))
    assert first == second
    assert seen["status"] == "running"
    assert "runs in another server" in text_of(refused)
    assert cancelled["status"] == "cancelled"


def test_a_client_that_goes_away_takes_every_process_with_it(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        _, processes = hanging_job(wire)
        _pipe(wire.process.stdin).close()
        assert survivors(processes) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_server_leaves_no_process_although_its_stdin_stays_open(
    number: signal.Signals, tmp_path: Path
) -> None:
    with wired(tmp_path) as wire:
        _, processes = hanging_job(wire)
        wire.process.send_signal(number)
        assert survivors(processes) == []


def test_after_a_restart_a_job_is_lost_and_says_what_to_do(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        job_id, _ = hanging_job(wire)
        wire.process.kill()
        wire.process.wait()
    with wired(tmp_path) as wire:
        lost = wire.call("job", action="result", job_id=job_id)
        listed = wire.call("job", action="list")["jobs"]
    assert lost["status"] == "lost"
    assert "call verify again" in lost["message"]
    assert [job["status"] for job in listed] == ["lost"]


def test_a_huge_source_is_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        arguments = {"task": TASK, "source": "x" * 10_000_000}
        result = wire.ask("tools/call", {"name": "compile", "arguments": arguments})["result"]
        assert result["isError"]
        assert "a source may have 1000000" in result["content"][0]["text"]
        assert wire.call("job", action="list") == {"jobs": []}


async def test_a_file_in_the_hosts_folder_replaces_nothing_that_the_judge_imports(tmp_path: Path) -> None:
    """Hosts start the server in the project, where the agent writes files: a torch.py there must not be the judge's."""
    (tmp_path / "torch.py").write_text("raise ImportError('not the real one')\n", encoding="utf-8")
    parameters = over_stdio(tmp_path / "home").model_copy(update={"cwd": str(tmp_path)})
    async with Client(parameters) as client:
        facts = facts_of(await client.call_tool("verify", {"task": TASK, "path": f"{TASK}/seed.cpp"}))
    assert facts["status"] == "passed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--toolsets", "cor"), "did you mean core?"),
        (("--workspace", "no/such/folder"), "no such folder"),
        (("--transport", "sse"), "invalid choice: 'sse'"),
        (("--read-onli",), "did you mean --read-only?"),
    ],
)
def test_a_wrong_option_ends_before_serving(options: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        server_command(*options), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _imported(log: Path) -> set[str]:
    """The top-level packages that `-X importtime` has named so far; an attempt that failed names no package itself."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
