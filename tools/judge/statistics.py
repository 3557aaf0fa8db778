"""From paired times to a ratio with an interval, and from the interval to a verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ...memory.schema import Verdict

BAND = 0.02
"""A difference below 2 % is never called: eight fresh pairs on two shared cores called none of 400 A/A verdicts."""

# Student's t, two-sided 99 %, by degrees of freedom.
T_99 = {
    1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355, 9: 3.250, 10: 3.169, 11: 3.106,
    12: 3.055, 13: 3.012, 14: 2.977, 15: 2.947,
}  # fmt: skip


@dataclass(frozen=True)
class Ratio:
    """A ratio of times with its 99 % interval."""

    value: float
    low: float
    high: float


def ratio_over_pairs(log_ratios: Sequence[float]) -> Ratio:
    """The geometric mean over worker pairs and its t-interval; one log ratio (a median) per pair, at least two.

    The noise is mostly between workers, so the pair, not the sample, is the unit that counts.
    """
    mean = statistics.fmean(log_ratios)
    spread = T_99[len(log_ratios) - 1] * statistics.stdev(log_ratios) / math.sqrt(len(log_ratios))
    return Ratio(math.exp(mean), math.exp(mean - spread), math.exp(mean + spread))


def verdict_of(ratio: Ratio) -> Verdict:
    """`faster` or `slower` only where the whole interval lies beyond the band."""
    if ratio.high < 1 - BAND:
        return Verdict.FASTER
    if ratio.low > 1 + BAND:
        return Verdict.SLOWER
    return Verdict.INCONCLUSIVE
