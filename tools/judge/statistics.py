"""From paired times to a ratio with an interval, when to stop taking more, and the verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ...memory.schema import Verdict

BAND = 0.02
"""A difference below 2 % is never called."""
NEAR = 0.10
"""Where a ratio that looks equal differs by less than this for sure, more pairs are not worth their time."""
TRIMMED_SHARE = 8
"""One pair in this many is cut off at each end: neighbours' work makes heavy tails, and they cost most of the power."""


@dataclass(frozen=True)
class Look:
    """A moment at which the pairs so far are judged."""

    pairs: int
    error: float
    """This look's share of the 1 % that A/A may be called over all looks: their sum bounds it (Bonferroni)."""
    critical: float
    """Student's t, two-sided at `error`, for the degrees of freedom that trimming leaves."""

    @property
    def trimmed(self) -> int:
        """Pairs cut off at each end."""
        return self.pairs // TRIMMED_SHARE


LOOKS = (
    Look(3, 0.0005, 44.705),
    Look(4, 0.0005, 16.326),
    Look(6, 0.0010, 6.869),
    Look(10, 0.0015, 5.038),
    Look(16, 0.0015, 4.194),
    Look(24, 0.0015, 3.778),
    Look(32, 0.0015, 3.603),
    Look(48, 0.0020, 3.340),
)


@dataclass(frozen=True)
class Ratio:
    """A ratio of times with an interval that holds in 99 of 100 whole measurements, however many looks they took."""

    value: float
    low: float
    high: float


def last_look(pairs: int) -> Look:
    """The latest look that so many pairs (at least three) allow."""
    return next(look for look in reversed(LOOKS) if look.pairs <= pairs)


def ratio_over_pairs(log_ratios: Sequence[float]) -> Ratio:
    """The trimmed geometric mean over worker pairs and its interval; one log ratio (a median) per pair.

    Tukey and McLaughlin, Sankhya A 25 (1963) 331: t with the winsorised variance. The noise is mostly between workers,
    so the pair, not the sample, is the unit that counts. Pairs beyond the last look are left out: a look that the
    number of pairs did not plan would have no error of its own.
    """
    look = last_look(len(log_ratios))
    count, cut = look.pairs, look.trimmed
    ordered = sorted(log_ratios[:count])
    kept = ordered[cut : count - cut]
    mean = statistics.fmean(kept)
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    spread = look.critical * statistics.stdev(winsorised) / ((1 - 2 * cut / count) * math.sqrt(count))
    return Ratio(math.exp(mean), _exp(mean - spread), _exp(mean + spread))


def is_clear(ratio: Ratio) -> bool:
    """Whether more pairs would only repeat the answer: different beyond doubt, or as good as equal."""
    if verdict_of(ratio) is not Verdict.INCONCLUSIVE:
        return True
    return 1 - BAND < ratio.value < 1 + BAND and ratio.low > 1 / (1 + NEAR) and ratio.high < 1 + NEAR


def verdict_of(ratio: Ratio) -> Verdict:
    """`faster` or `slower` only where the whole interval lies beyond the band."""
    if ratio.high < 1 - BAND:
        return Verdict.FASTER
    if ratio.low > 1 + BAND:
        return Verdict.SLOWER
    return Verdict.INCONCLUSIVE


def _exp(value: float) -> float:
    """Three pairs that disagree give an interval beyond what a float holds; it stays finite and positive."""
    return math.exp(max(-700.0, min(700.0, value)))
