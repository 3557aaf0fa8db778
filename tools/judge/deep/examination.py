"""The deep tier of device-only code: counters from ncu, memory and race checks from compute-sanitizer, at one shape."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from ....memory.errors import UnavailableError
from ....memory.schema import CpuProfile, Finding, ProfilingReport, UnavailableProfile
from ..arena import TensorPlan
from ..bench import Program
from ..cases import DECLARED
from ..device_code import DeviceCode
from ..environment import child_environment
from ..gpu import Gpu
from ..peaks import Peaks
from ..place import Place
from ..problem import Problem, Shape
from .figures import RooflinePeaks
from .ncu import find_ncu, profile
from .sanitizer import Check, find_sanitizer, sanitize
from .tool import DeepRun

PLAN_NAME = "replay.json"
NCU_TIMEOUT_S = 120
SANITIZER_TIMEOUT_S = 60
CHECKS: tuple[Check, ...] = ("memcheck", "racecheck", "initcheck")
LARGEST_CHECKED_BYTES = 64 << 20
"""The checkers slow a kernel down a hundredfold: they get the largest shape up to this size."""


@dataclass(frozen=True)
class Examined:
    """What the deep tier found."""

    report: ProfilingReport | CpuProfile | UnavailableProfile
    raw: bytes = b""
    """ncu's own output."""
    violations: tuple[Finding, ...] = ()
    """Accesses out of bounds, races: wrong whatever the outputs were."""
    remarks: tuple[Finding, ...] = ()
    """Reads of what nobody wrote, which may be harmless; checks that could not run here, each with the reason."""


@dataclass(frozen=True)
class Examination:
    """One candidate's device code with its problem."""

    folder: Path
    """Where private folders are made."""
    problem: Problem
    place: Place
    code: DeviceCode

    def run(self, shapes: list[Shape], peaks: RooflinePeaks) -> Examined:
        """Profile the first timed shape, and check memory at the largest shape that is small enough."""
        report, raw = self._profiled(shapes[0], peaks)
        small = [shape for shape in shapes if self._bytes(shape) <= LARGEST_CHECKED_BYTES] or shapes[-1:]
        violations, remarks = self._checked(max(small, key=self._bytes))
        return Examined(report, raw, violations, remarks)

    def _profiled(self, shape: Shape, peaks: RooflinePeaks) -> tuple[ProfilingReport | UnavailableProfile, bytes]:
        try:
            ncu = find_ncu(_path())
            with self._replay(shape, "poisoned", NCU_TIMEOUT_S) as run:
                made = profile(ncu, run, self.code.kernel_names, peaks)
        except UnavailableError as error:
            return UnavailableProfile(reason=str(error)), b""
        return made.report, made.raw

    def _checked(self, shape: Shape) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        violations: list[Finding] = []
        remarks: list[Finding] = []
        for check in CHECKS:
            try:
                outputs = "unwritten" if check == "initcheck" else "poisoned"
                sanitizer = find_sanitizer(_path())
                with self._replay(shape, outputs, SANITIZER_TIMEOUT_S) as run:
                    found = sanitize(sanitizer, check, run).findings
                (remarks if check == "initcheck" else violations).extend(found)
            except UnavailableError as error:
                remarks.append(Finding(kind=f"{check}_unavailable", evidence=str(error)))
        return tuple(violations), tuple(remarks)

    @contextmanager
    def _replay(self, shape: Shape, outputs: str, timeout_s: float) -> Iterator[DeepRun]:
        """A folder with one call's inputs and plan, and the command that replays it."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix="replay-"))
        try:
            self._write(folder, shape)
            plan = str(folder / PLAN_NAME)
            runner = (sys.executable, "-P", "-m", "kernelguild.tools.judge.deep.replay", plan, outputs)
            yield DeepRun(runner, child_environment(os.environ), folder, timeout_s)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, folder: Path, shape: Shape) -> None:
        signature = self.problem.signature(shape)
        parameters = self.problem.draw_parameters()
        given = [*self.problem.draw(shape, DECLARED, parameters).inputs, *parameters]
        tensors = []
        for number, plan in enumerate(signature.named_tensors):
            name = f"{number}.bin" if number < len(given) else None
            if name is not None:
                _bytes_of(given[number]).numpy().tofile(folder / name)
            tensors.append({"bytes": plan.size_bytes, "file": name})
        launches = self.code.launches(signature, shape.symbols, self.place.sm_count)
        layout = {**launches, "modules": self.code.encoded_modules, "tensors": tensors}
        (folder / PLAN_NAME).write_text(json.dumps(layout), encoding="ascii")

    def _bytes(self, shape: Shape) -> int:
        return sum(plan.size_bytes for plan in self.problem.signature(shape).inputs if isinstance(plan, TensorPlan))


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8).cpu()


def _path() -> str:
    return os.environ.get("PATH", "")


def examined_on_gpu(
    folder: Path, problem: Problem, gpu: Gpu, program: Program, shapes: list[Shape], peaks: Peaks
) -> Examined:
    """The deep tier of a candidate on a GPU; a ModelNew has host code, which could forge a profiler's log."""
    if program.device_code is None:
        reason = "a ModelNew is host code too: deep profiles are of cuda and triton candidates"
        return Examined(UnavailableProfile(reason=reason))
    return Examination(folder, problem, gpu, program.device_code).run(shapes, roofline_peaks(peaks))


def roofline_peaks(peaks: Peaks) -> RooflinePeaks:
    """Copies at the largest size, which no cache holds; matrix products by dtype."""
    copy = peaks.copy_gb_s[max(peaks.copy_gb_s)] if peaks.copy_gb_s else None
    matmul = {precision: rate / 1e3 for precision, rate in peaks.matmul_gflop_s.items()}
    return RooflinePeaks("torch's own copy and matrix product on this device", copy, matmul)
