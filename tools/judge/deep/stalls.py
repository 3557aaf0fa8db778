"""Why warps waited, by the profiler's reasons."""

from __future__ import annotations

import re

from ....memory.schema import Stall
from .ncu_csv import Launch

STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
LISTED = 6
# `selected` is the cycle of the instruction itself, no wait.
NO_WAIT = frozenset({"selected"})
MEANINGS = {
    "barrier": "waiting for the block's other warps at a barrier",
    "branch_resolving": "waiting for a branch's target",
    "dispatch_stall": "the dispatcher holds the instruction back",
    "drain": "waiting for stores to leave before the warp ends",
    "gmma": "waiting for a warpgroup's matrix instruction",
    "imc_miss": "waiting for a constant that missed its cache",
    "lg_throttle": "the queue of global and local accesses is full",
    "long_scoreboard": "waiting for data from global or local memory (L1, L2, DRAM)",
    "math_pipe_throttle": "the arithmetic unit is taken by other warps",
    "membar": "waiting for a memory fence",
    "mio_throttle": "the queue of shared-memory and special instructions is full",
    "no_instruction": "waiting for instructions to be fetched",
    "not_selected": "ready, but another warp was issued: enough warps are there",
    "short_scoreboard": "waiting for data from shared memory or a special function",
    "sleeping": "all threads sleep",
    "tex_throttle": "the queue of texture accesses is full",
    "wait": "a fixed latency between two dependent instructions",
}


def stalls_of(launch: Launch) -> tuple[Stall, ...]:
    """The longest waits, at most LISTED of them; empty where ncu did not sample them."""
    cycles = {
        found.group(1): metric.value
        for name, metric in launch.metrics.items()
        if (found := STALL.fullmatch(name)) and metric.value is not None and metric.value >= 0
    }
    together = sum(cycles.values())
    if together == 0:
        return ()
    waits = sorted((item for item in cycles.items() if item[0] not in NO_WAIT), key=lambda item: -item[1])
    return tuple(
        Stall(
            reason=reason,
            cycles_per_instruction=value,
            share_pct=100 * value / together,
            meaning=MEANINGS.get(reason, f"stalled for {reason.replace('_', ' ')}"),
        )
        for reason, value in waits[:LISTED]
        if value > 0
    )
