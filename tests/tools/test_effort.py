"""How much is measured, worked by hand."""

from __future__ import annotations

import pytest

from kernelguild.tools.judge.timing import goes_on, samples_for


@pytest.mark.parametrize(("sample_cost_s", "samples"), [(0.001, 24), (0.01, 10), (0.02, 5), (0.2, 3), (30.0, 3)])
def test_what_is_dear_is_sampled_less_often(sample_cost_s: float, samples: int) -> None:
    assert samples_for(sample_cost_s) == samples


@pytest.mark.parametrize(
    ("pairs", "elapsed_s", "pair_cost_s", "goes"),
    [
        (3, 0.2, 0.07, True),
        (32, 2.2, 0.07, True),
        (48, 3.4, 0.07, False),  # there is no look after the last
        (10, 4.0, 0.4, False),  # six more pairs would end after 6.4 s
        (3, 30.0, 10.0, True),  # up to six pairs, a minute is allowed
        (3, 60.0, 20.0, False),
    ],
)
def test_the_next_look_must_fit_the_budget(pairs: int, elapsed_s: float, pair_cost_s: float, goes: bool) -> None:
    assert goes_on(pairs, elapsed_s, pair_cost_s) is goes
