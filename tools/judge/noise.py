"""What this machine cannot tell apart: the baseline against itself, measured now and then and kept."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from pydantic import Field

from ...memory.schema import Device, Record
from . import machine_cache

AA_PAIRS = 6
T_99 = 4.032
"""Student's t, two-sided 99 %, for the spread of so many pairs."""
TO_DEVIATION = 1.4826
"""From the median of the absolute deviations to the standard deviation of a normal distribution."""
MAX_AGE_S = 6 * 3600.0


class Noise(Record):
    """How far fresh pairs of one and the same program lie apart."""

    spread: float = Field(ge=0)
    """Of log(time / time) over pairs, robust, as a standard deviation."""
    measured_at_s: float
    """Unix seconds."""

    def band(self, pairs: int) -> float:
        """Two equal programs, timed with so many pairs, differ by less than this share in 99 of 100 measurements."""
        return math.expm1(min(T_99 * self.spread / math.sqrt(pairs), 700.0))


def measured_noise(
    device: Device, threads: int, baseline_s: float, now_s: float, pair_log_ratio: Callable[[], float]
) -> Noise:
    """The noise of calls as long as this one: kept from before, or measured now.

    Args:
        baseline_s: seconds of one call; each factor of ten is a class of its own.
        pair_log_ratio: times one fresh pair in which both sides run the baseline.
    """
    name = f"aa-{device.instance}-{threads}t-1e{math.floor(math.log10(baseline_s))}s"
    kept = machine_cache.load(name, Noise)
    if kept is not None and 0 <= now_s - kept.measured_at_s < MAX_AGE_S:
        return kept
    # Around zero, which is the truth here; a pair that a neighbour disturbed must not set the band for hours.
    spread = TO_DEVIATION * statistics.median(abs(pair_log_ratio()) for _ in range(AA_PAIRS))
    noise = Noise(spread=spread, measured_at_s=now_s)
    machine_cache.save(name, noise)
    return noise
