"""How much is measured, worked by hand."""

from __future__ import annotations

import pytest

from kernelguild.tools.judge.timing import Effort, effort_for


@pytest.mark.parametrize(
    ("sample_cost_s", "effort"),
    [
        (0.001, Effort(pairs=8, samples=10)),
        (0.2, Effort(pairs=8, samples=5)),  # 8 s / 8 pairs / 0.2 s
        (1.0, Effort(pairs=8, samples=3)),
        (4.0, Effort(pairs=5, samples=3)),  # 60 s / 3 samples / 4 s
        (30.0, Effort(pairs=3, samples=3)),
    ],
)
def test_what_is_dear_is_measured_less_often(sample_cost_s: float, effort: Effort) -> None:
    assert effort_for(sample_cost_s) == effort
