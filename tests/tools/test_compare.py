"""The tolerance: scaled to the reference, exact where the reference is not finite or not a float."""

from __future__ import annotations

import math

import pytest
import torch

from kernelguild.memory.schema import Tolerance
from kernelguild.tools.judge.compare import compare

TOLERANCE = Tolerance(relative=1e-2, rms=1e-1)


def test_the_tolerance_is_worked_by_hand() -> None:
    # ref = [3, 4]: rms = sqrt((9 + 16) / 2) = 3.535534; allowed = 0.03 + 0.3535534 and 0.04 + 0.3535534.
    expected = torch.tensor([3.0, 4.0], dtype=torch.float64)
    error = compare("y", torch.tensor([3.5, 4.0]), expected, TOLERANCE)
    assert error.tolerance_ratio == pytest.approx(0.5 / (0.03 + 0.1 * math.sqrt(12.5)), rel=1e-6)
    assert (error.mismatched, error.worst_index) == (1, (0,))
    assert compare("y", torch.tensor([3.38, 4.39]), expected, TOLERANCE).mismatched == 0


@pytest.mark.parametrize(
    ("actual", "expected", "mismatched"),
    [
        ([math.nan, 1.0], [math.nan, 1.0], 0),
        ([math.inf, 1.0], [math.inf, 1.0], 0),
        ([-math.inf, 1.0], [math.inf, 1.0], 1),
        ([math.nan, 1.0], [2.0, 1.0], 1),
        ([0.0, 1.0], [math.nan, 1.0], 1),
        ([math.inf, 1.0], [1e300, 1.0], 1),
    ],
)
def test_what_is_not_finite_must_match_exactly(actual: list[float], expected: list[float], mismatched: int) -> None:
    error = compare("y", torch.tensor(actual), torch.tensor(expected, dtype=torch.float64), TOLERANCE)
    assert error.mismatched == mismatched


def test_zeros_do_not_pass_for_small_values() -> None:
    expected = torch.full((8,), 1e-6, dtype=torch.float64)
    assert compare("y", torch.zeros(8), expected, Tolerance()).mismatched == 8


def test_huge_references_do_not_allow_everything() -> None:
    expected = torch.tensor([1e200, 1.0], dtype=torch.float64)
    assert compare("y", torch.tensor([2e200, 1.0], dtype=torch.float64), expected, TOLERANCE).mismatched == 1


def test_integers_must_be_equal_and_an_index_has_all_dimensions() -> None:
    error = compare("y", torch.tensor([[1, 2], [3, 5]]), torch.tensor([[1, 2], [3, 4]]), TOLERANCE)
    assert (error.mismatched, error.worst_index, error.worst_value, error.worst_expected) == (1, (1, 1), 5.0, 4.0)
