"""The benchmark of the server's own cost."""

from __future__ import annotations

import subprocess
import sys

from real_server import BOUND_S
from scripted_judge import EXAMPLES


def test_one_command_measures_our_server_beside_a_bare_one() -> None:
    command = [sys.executable, str(EXAMPLES / "benchmarks" / "mcp_overhead.py"), "--rounds", "1", "--calls", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert rows[1:] == ["bare MCPServer", "kernelguild", "above bare", "ratio"], done.stderr
