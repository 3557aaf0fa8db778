"""What the machine can do at most, how that is kept, and what follows for a candidate that claims more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from affine_task import RIGHT, Judgement, cpp
from kernelguild.memory.schema import Device, MeasuredTiming, ShapeTiming, Task, Tier, Verdict
from kernelguild.tools.judge.floor import BELOW_FLOOR
from kernelguild.tools.judge.leases import machine_folder
from kernelguild.tools.judge.peaks import MAX_AGE_S, CpuMeter, Peaks, measured_peaks


@dataclass
class SteadyMeter:
    """A device of fixed rates; counts how often it is asked."""

    gb_s: float
    asked: int = 0
    copy_bytes: tuple[int, ...] = (1 << 18, 1 << 20, 1 << 24)
    precisions: tuple[str, ...] = ("float32", "float64")

    def copy_s(self, moved_bytes: int) -> float:
        self.asked += 1
        return moved_bytes / self.gb_s / 1e9

    def matmul_gflop_s(self, precision: str) -> float:
        return 500.0 if precision == "float64" else 1000.0


@pytest.fixture
def device() -> Iterator[Device]:
    name = f"test-{os.getpid()}"
    yield Device(model="test", instance=name, kind="cpu", name="test", cores=1, memory_bytes=1 << 30, toolchain="none")
    for path in machine_folder().glob(f"*{name}*"):
        path.unlink()


def kept_file(device: Device) -> Path:
    (path,) = machine_folder().glob(f"peaks-{device.instance}-*.json")
    return path


def test_peaks_are_measured_once_and_again_when_they_are_old(device: Device) -> None:
    meter = SteadyMeter(gb_s=50.0)
    peaks = measured_peaks(device, 1, meter, 1000.0)
    assert peaks.fastest_copy_gb_s(1 << 20) == pytest.approx(50.0)
    assert peaks.fastest_gflop_s() == pytest.approx(1000.0)
    asked = meter.asked
    assert measured_peaks(device, 1, meter, 1001.0) == peaks
    assert meter.asked == asked
    assert measured_peaks(device, 1, meter, 1001.0 + MAX_AGE_S).measured_at_s == 1001.0 + MAX_AGE_S
    assert meter.asked == 2 * asked


def test_a_fresh_measurement_only_ever_raises_the_peaks(device: Device) -> None:
    measured_peaks(device, 1, SteadyMeter(gb_s=50.0), 1000.0)
    assert measured_peaks(device, 1, SteadyMeter(gb_s=9.0), 1001.0, fresh=True).fastest_copy_gb_s(
        1 << 20
    ) == pytest.approx(50.0)
    assert measured_peaks(device, 1, SteadyMeter(gb_s=90.0), 1002.0, fresh=True).fastest_copy_gb_s(
        1 << 20
    ) == pytest.approx(90.0)


def truncate(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8")[:20], encoding="utf-8")


def link(path: Path) -> None:
    target = path.with_suffix(".elsewhere")
    path.rename(target)
    path.symlink_to(target)


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def give_away(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65534, 65534)


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("spoil", [truncate, link, open_to_all, give_away, replace_by_pipe])
def test_what_another_may_have_written_is_measured_again(device: Device, spoil: Callable[[Path], None]) -> None:
    measured_peaks(device, 1, SteadyMeter(gb_s=50.0), 1000.0)
    spoil(kept_file(device))
    assert measured_peaks(device, 1, SteadyMeter(gb_s=70.0), 1001.0).fastest_copy_gb_s(1 << 20) == pytest.approx(70.0)
    assert measured_peaks(device, 1, SteadyMeter(gb_s=1.0), 1002.0).fastest_copy_gb_s(1 << 20) == pytest.approx(70.0)


def test_a_copy_is_as_fast_as_the_best_of_its_size_or_more() -> None:
    peaks = Peaks(copy_gb_s={1 << 18: 80.0, 1 << 20: 90.0, 1 << 24: 20.0}, matmul_gflop_s={}, measured_at_s=0.0)
    assert [peaks.fastest_copy_gb_s(size) for size in (1000, 1 << 18, 1 << 21, 1 << 30)] == [None, 90.0, 90.0, 20.0]
    assert peaks.fastest_gflop_s() is None


def test_the_processor_itself_can_be_measured() -> None:
    meter = CpuMeter()
    assert 0 < meter.copy_s(1 << 20) < 1
    assert 0 < meter.matmul_gflop_s("float64") < 1e6


def timed(evaluate: Judgement, task: Task) -> tuple[MeasuredTiming, ShapeTiming]:
    evaluation = evaluate(cpp(RIGHT), Tier.PROFILE, task)
    shape = evaluation.shapes[0].timing
    assert isinstance(evaluation.timing, MeasuredTiming)
    assert shape is not None
    return evaluation.timing, shape


def test_a_timed_shape_shows_its_floor_and_the_machines_own_noise(evaluate: Judgement, affine: Task) -> None:
    large = affine.model_copy(update={"shapes": ({"n": 100_000},)})
    timing, shape = timed(evaluate, large)
    assert timing.aa_band is not None
    assert timing.aa_band > 0
    # The output alone, of 400 kB: nothing was declared.
    assert shape.floor_ms is not None
    assert 0 < shape.floor_ms < shape.candidate_ms


def test_what_is_too_short_to_be_timed_has_no_floor(evaluate: Judgement, affine: Task) -> None:
    assert timed(evaluate, affine)[1].floor_ms is None


@pytest.mark.parametrize(
    ("declared", "named"),
    [({"traffic_bytes": "n * 100000000"}, "4.096e+11 bytes"), ({"flops": "n * 100000000"}, "4.096e+11 operations")],
)
def test_less_time_than_physics_allows_is_suspect_and_says_what_was_declared(
    evaluate: Judgement, affine: Task, declared: dict[str, str], named: str
) -> None:
    evaluation = evaluate(cpp(RIGHT), Tier.PROFILE, affine.model_copy(update=declared))
    assert evaluation.verdict is Verdict.SUSPECT
    assert evaluation.shapes[0].timing is not None
    (finding,) = evaluation.findings
    assert finding.kind == BELOW_FLOOR
    name = next(iter(declared))
    for said in ("at n=4096", named, f"the task's {name} (n * 100000000)", "check what the task declares"):
        assert said in finding.evidence
