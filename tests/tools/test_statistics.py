"""Ratios, when to stop, and verdicts: worked by hand, and over many simulated measurements."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from kernelguild.memory.schema import Verdict
from kernelguild.tools.judge.statistics import LOOKS, Look, Ratio, is_clear, last_look, ratio_over_pairs, verdict_of

MEASUREMENTS = 2000
Noise = Callable[[random.Random], float]


def measure(generator: random.Random, true_log_ratio: float, noise: Noise) -> tuple[Verdict, int]:
    """A whole sequential measurement: its verdict, and the pairs that it took."""
    log_ratios: list[float] = []
    for look in LOOKS:
        log_ratios += [true_log_ratio + noise(generator) for _ in range(look.pairs - len(log_ratios))]
        if is_clear(ratio_over_pairs(log_ratios)):
            break
    return verdict_of(ratio_over_pairs(log_ratios)), len(log_ratios)


def normal(generator: random.Random) -> float:
    return generator.gauss(0, 0.05)


def heavy(generator: random.Random) -> float:
    """One pair in ten was disturbed: six times the spread."""
    return generator.gauss(0, 0.18 if generator.random() < 0.1 else 0.03)


def loud(generator: random.Random) -> float:
    """The band protects nobody against such noise: the interval must."""
    return generator.gauss(0, 0.5)


@pytest.mark.parametrize("noise", [normal, heavy, loud])
def test_equal_programs_are_called_different_in_at_most_one_of_a_hundred(noise: Noise) -> None:
    generator = random.Random(1)
    called = sum(measure(generator, 0.0, noise)[0] is not Verdict.INCONCLUSIVE for _ in range(MEASUREMENTS))
    assert called <= 0.01 * MEASUREMENTS


@pytest.mark.parametrize("noise", [normal, heavy])
def test_a_tenth_less_work_is_found_in_ninety_five_of_a_hundred(noise: Noise) -> None:
    generator = random.Random(2)
    found = sum(measure(generator, -math.log(1.1), noise)[0] is Verdict.FASTER for _ in range(MEASUREMENTS))
    assert found >= 0.95 * MEASUREMENTS


def test_twice_the_speed_takes_at_most_six_pairs() -> None:
    generator = random.Random(3)
    measurements = [measure(generator, -math.log(2), normal) for _ in range(MEASUREMENTS)]
    assert all(verdict is Verdict.FASTER for verdict, _ in measurements)
    assert sum(pairs <= 6 for _, pairs in measurements) >= 0.99 * MEASUREMENTS


def test_the_looks_share_one_percent_of_error() -> None:
    assert math.fsum(look.error for look in LOOKS) <= 0.01 + 1e-12


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.pairs} pairs")
def test_a_looks_critical_value_is_students_t(look: Look) -> None:
    freedom = look.pairs - 2 * look.trimmed - 1
    # With t = tan(angle) * sqrt(freedom) the tail becomes a finite integral of cos ** (freedom - 1).
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(math.pi) * math.gamma(freedom / 2))
    start = math.atan(look.critical / math.sqrt(freedom))
    steps = 20_000
    width = (math.pi / 2 - start) / steps
    tail = math.fsum(math.cos(start + (n + 0.5) * width) ** (freedom - 1) for n in range(steps)) * width * scale
    assert 2 * tail == pytest.approx(look.error, rel=2e-3)


def test_the_interval_is_students_t_over_the_pairs() -> None:
    # logs 0.0, 0.1, 0.2: mean 0.1, standard deviation 0.1, t(99.95 %, 2) = 44.705: +- 44.705 * 0.1 / sqrt(3) = 2.58105.
    ratio = ratio_over_pairs([0.0, 0.1, 0.2])
    assert ratio.value == pytest.approx(math.exp(0.1))
    assert ratio.low == pytest.approx(math.exp(0.1 - 2.58105), rel=1e-4)
    assert ratio.high == pytest.approx(math.exp(0.1 + 2.58105), rel=1e-4)


def test_one_pair_in_eight_is_cut_off_at_each_end() -> None:
    # Winsorised: 1, 1, 2 .. 8, 8 with a variance of 71.667 / 9; t(99.85 %, 7) = 5.038, divided by 0.8 * sqrt(10).
    ratio = ratio_over_pairs([n / 100 for n in (-900, 1, 2, 3, 4, 5, 6, 7, 8, 900)])
    winsorised = [1, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    variance = sum((value - 4.5) ** 2 for value in winsorised) / 9
    spread = 5.038 * math.sqrt(variance) / 100 / (0.8 * math.sqrt(10))
    assert ratio.value == pytest.approx(math.exp(0.045))
    assert ratio.high == pytest.approx(math.exp(0.045 + spread))


@pytest.mark.parametrize(("pairs", "counted"), [(3, 3), (5, 4), (6, 6), (9, 6), (47, 32), (48, 48)])
def test_only_planned_looks_count(pairs: int, counted: int) -> None:
    assert last_look(pairs).pairs == counted


def test_pairs_that_disagree_wildly_give_a_finite_interval() -> None:
    ratio = ratio_over_pairs([-40.0, 0.0, 40.0])
    assert 0 < ratio.low < ratio.high < math.inf


@pytest.mark.parametrize(
    ("low", "high", "verdict", "clear"),
    [
        (0.50, 0.97, Verdict.FASTER, True),
        (0.50, 0.99, Verdict.INCONCLUSIVE, False),
        (0.99, 1.01, Verdict.INCONCLUSIVE, True),
        (0.93, 1.07, Verdict.INCONCLUSIVE, True),
        (0.97, 1.12, Verdict.INCONCLUSIVE, False),
        (1.01, 1.50, Verdict.INCONCLUSIVE, False),
        (1.03, 1.50, Verdict.SLOWER, True),
    ],
)
def test_a_verdict_needs_the_whole_interval_beyond_two_percent(
    low: float, high: float, verdict: Verdict, clear: bool
) -> None:
    ratio = Ratio(math.sqrt(low * high), low, high)
    assert verdict_of(ratio) is verdict
    assert is_clear(ratio) is clear
