"""The deep tier on the processor: hardware counters of the worker over one warm call."""

from __future__ import annotations

from ....memory.schema import CpuProfile, Task, UnavailableProfile
from ..bench import Bench, Program
from ..cases import DECLARED
from ..place import Place
from ..problem import Problem, Shape
from ..trial import CallLimits, Trial
from .cpu_counters import CpuCounters


def cpu_profile(
    bench: Bench, task: Task, problem: Problem, place: Place, program: Program, shape: Shape, size_bytes: int
) -> CpuProfile | UnavailableProfile:
    """Counters of one call at one shape, after another that warmed the worker up.

    Raises:
        CandidateFailure: the call failed.
    """
    parameters = problem.draw_parameters()
    with bench.seat(program, place, size_bytes) as seat:
        pid = seat.worker.pid()
        if pid is None:
            return UnavailableProfile(reason="this kernel does not list a process's children (CONFIG_PROC_CHILDREN)")
        trial = Trial(seat, problem.signature(shape), shape, parameters, CallLimits.of(task.constraints))
        drawn = problem.draw(shape, DECLARED, parameters)
        trial.run(drawn, DECLARED)
        with CpuCounters.of(pid) as counters:
            counters.start()
            time = trial.run(drawn, DECLARED)
            return counters.stop(time.elapsed_s * 1e3)
