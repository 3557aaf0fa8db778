"""The deep tier of the judge, and the judge's clock as a witness."""

from __future__ import annotations

import pytest

from affine_task import RIGHT, Judgement, cpp
from kernelguild.memory.schema import CpuProfile, Status, Tier, Verdict
from kernelguild.tools.judge.deep.examination import roofline_peaks
from kernelguild.tools.judge.pair import PairTimes
from kernelguild.tools.judge.peaks import Peaks
from kernelguild.tools.judge.problem import Shape
from kernelguild.tools.judge.witness import disagreements


def test_a_deep_verdict_has_times_and_the_processors_counters(evaluate: Judgement) -> None:
    evaluation = evaluate(cpp(RIGHT), Tier.DEEP)
    assert evaluation.status is Status.PASSED
    assert evaluation.verdict is not Verdict.NONE
    profile = evaluation.profile
    assert isinstance(profile, CpuProfile)
    assert profile.wall_ms.value is not None
    assert profile.wall_ms.value > 0
    # Where the processor shows no counters, each says why.
    for metric in (profile.elapsed_cycles, profile.instructions, profile.cache_misses):
        assert (metric.value is None) == (metric.kind == "unavailable")
        assert metric.source


def test_no_tier_below_looks_at_counters(evaluate: Judgement) -> None:
    assert evaluate(cpp(RIGHT), Tier.PROFILE).profile is None


def pair(candidate_us: float, baseline_us: float, wall_gap_us: float) -> list[PairTimes]:
    """One pair at one shape."""
    times = PairTimes((candidate_us / 1e6,), (baseline_us / 1e6,), 1e-6, wall_gap_us / 1e6)
    return [times]


@pytest.mark.parametrize(
    ("pairs", "kinds"),
    [
        # 400 us less by the events, and by the judge's clock as well.
        ([pair(600, 1000, -380), pair(600, 1000, -410)], []),
        # By the judge's clock nothing was gained: 400 us are missing, and 300 are allowed.
        ([pair(600, 1000, 0), pair(600, 1000, 20)], ["clocks_disagree"]),
        # One busy moment of the machine is no evidence.
        ([pair(600, 1000, 5000), pair(600, 1000, -390)], []),
        # Below 50 us the judge's clock says nothing.
        ([pair(10, 40, 15), pair(10, 40, 15)], []),
    ],
)
def test_a_gain_that_the_judges_clock_does_not_see_is_a_finding(pairs: list[list[PairTimes]], kinds: list[str]) -> None:
    found = disagreements([Shape({"n": 5}, hidden=False)], pairs)
    assert [finding.kind for finding in found] == kinds
    if kinds:
        assert found[0].evidence.startswith("at n=5: -0.4 ms against the baseline by the device's events, +0 ms")


def test_the_roofline_takes_the_copy_that_no_cache_holds() -> None:
    peaks = Peaks(copy_gb_s={1 << 20: 9000.0, 1 << 31: 4227.0}, matmul_gflop_s={"float16": 757_857.0}, measured_at_s=0)
    roofline = roofline_peaks(peaks)
    assert roofline.copy_gb_s == 4227.0
    assert roofline.matmul_tflops == {"float16": 757.857}
