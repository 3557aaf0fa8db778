"""The judge's own clock as a witness against the device's events."""

from __future__ import annotations

import statistics

from ...memory.schema import Finding
from .pair import PairTimes
from .problem import Shape

SLACK_S = 50e-6
"""Noise of the judge's clock between two processes: queueing, a handshake, the driver."""
SLACK_SHARE = 0.3
"""Of the baseline's time."""


def disagreements(shapes: list[Shape], pairs: list[list[PairTimes]]) -> tuple[Finding, ...]:
    """Shapes at which the candidate gained by the events what the judge's clock does not know of."""
    found = []
    for number, shape in enumerate(shapes):
        times = [pair[number] for pair in pairs]
        baseline_s = statistics.median(sample for entry in times for sample in entry.baseline_s)
        candidate_s = statistics.median(sample for entry in times for sample in entry.candidate_s)
        # What was never computed is missing in every pair; the rest of the machine is not busy in every one.
        told_s, seen_s = candidate_s - baseline_s, min(entry.wall_gap_s for entry in times)
        if seen_s - told_s > max(SLACK_S, SLACK_SHARE * baseline_s):
            at = ", ".join(f"{name}={value}" for name, value in shape.symbols.items()) or "the one shape"
            evidence = (
                f"at {at}: {1e3 * told_s:+.4g} ms against the baseline by the device's events, "
                f"{1e3 * seen_s:+.4g} ms by the judge's clock"
            )
            found.append(Finding(kind="clocks_disagree", evidence=evidence))
    return tuple(found)
