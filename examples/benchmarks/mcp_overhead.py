"""What kernelguild's server costs above a bare MCPServer with one tool, both in one run, interleaved.

Run `python examples/benchmarks/mcp_overhead.py`; it prints one table. Times are CPU time of the server process (user
and system): wall time on a shared machine is noise. Limits: start 0.3 s, a trivial call 0.3 ms above the bare server.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_LIMIT_S = 0.3
CALL_LIMIT_MS = 0.3
BARE = """
from mcp.server import MCPServer
app = MCPServer("bare")
@app.tool()
async def echo(text: str) -> str:
    return text
app.run("stdio")
"""


@dataclass
class Side:
    """One of the two servers and what was measured on it."""

    name: str
    command: list[str]
    tool: str
    arguments: dict[str, str]
    start_s: list[float] = field(default_factory=list)
    call_ms: list[float] = field(default_factory=list)


class Server:
    """One server process after its first answer."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        client = {"name": "benchmark", "version": "0"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request; the answer to it."""
        self._send({"id": 1, "method": method, "params": params})
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def call(self, tool: str, arguments: dict[str, str]) -> None:
        """One tool call that must succeed."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not answer["result"].get("isError"), answer

    def cpu_s(self) -> float:
        """User and system time of the process so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def measure(side: Side, calls: int) -> None:
    """One start and one block of calls."""
    server = Server(side.command)
    side.start_s.append(server.cpu_s())
    server.call(side.tool, side.arguments)  # opens the store; only the calls after it are trivial
    before_s = server.cpu_s()
    for _ in range(calls):
        server.call(side.tool, side.arguments)
    side.call_ms.append((server.cpu_s() - before_s) / calls * 1e3)
    server.close()


def main() -> int:
    """Measure both sides in turns; exit code 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        ours = [sys.executable, "-P", "-m", "kernelguild.server.app", "--home", home]
        sides = [
            Side("bare MCPServer", [sys.executable, "-P", "-c", BARE], "echo", {"text": "x"}),
            Side("kernelguild", ours, "job", {"action": "list"}),
        ]
        for _ in range(options.rounds):
            for side in sides:
                measure(side, options.calls)
    return report(*sides)


def report(bare: Side, ours: Side) -> int:
    """Print the table; 1 where a limit is passed."""
    print(f"{'server':16} {'start CPU s':>12} {'call CPU ms':>12}   (best of {len(bare.start_s)}; median in brackets)")
    for side in (bare, ours):
        start, call = side.start_s, side.call_ms
        print(
            f"{side.name:16} {min(start):6.2f} ({statistics.median(start):4.2f}) "
            f"{min(call):6.2f} ({statistics.median(call):4.2f})"
        )
    start_s = min(ours.start_s) - min(bare.start_s)
    call_ms = min(ours.call_ms) - min(bare.call_ms)
    print(f"{'above bare':16} {start_s:6.2f} of {START_LIMIT_S:4} {call_ms:6.2f} of {CALL_LIMIT_MS:4}")
    start, call = _ratio(ours.start_s, bare.start_s), _ratio(ours.call_ms, bare.call_ms)
    print(f"{'ratio':16} {start:12.2f} {call:12.2f}")
    return int(start_s > START_LIMIT_S or call_ms > CALL_LIMIT_MS)


def _ratio(ours: list[float], bare: list[float]) -> float:
    """Of the best ones; few calls may take less than the kernel's clock ticks."""
    return min(ours) / min(bare) if min(bare) else math.nan


if __name__ == "__main__":
    sys.exit(main())
