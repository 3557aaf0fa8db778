"""Ratios and verdicts, worked by hand."""

from __future__ import annotations

import math

import pytest

from kernelguild.memory.schema import Verdict
from kernelguild.tools.judge.statistics import Ratio, ratio_over_pairs, verdict_of


def test_the_interval_is_students_t_over_the_pairs_medians() -> None:
    # logs 0.0, 0.1, 0.2: mean 0.1, standard deviation 0.1, t(99 %, 2) = 9.925, so +- 9.925 * 0.1 / sqrt(3) = 0.57302.
    ratio = ratio_over_pairs([0.0, 0.1, 0.2])
    assert ratio.value == pytest.approx(math.exp(0.1))
    assert ratio.low == pytest.approx(math.exp(0.1 - 0.57302), rel=1e-4)
    assert ratio.high == pytest.approx(math.exp(0.1 + 0.57302), rel=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.50, 0.97, Verdict.FASTER),
        (0.50, 0.99, Verdict.INCONCLUSIVE),
        (0.99, 1.01, Verdict.INCONCLUSIVE),
        (1.01, 1.50, Verdict.INCONCLUSIVE),
        (1.03, 1.50, Verdict.SLOWER),
    ],
)
def test_a_verdict_needs_the_whole_interval_beyond_two_percent(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(Ratio(math.sqrt(low * high), low, high)) is verdict
