"""What to do after a verdict: one or two imperative sentences that a caller can act on."""

from __future__ import annotations

import math
import re

from ..memory.schema import (
    NOT_ABOUT_THE_CANDIDATE,
    CompileReport,
    Evaluation,
    Language,
    MeasuredTiming,
    OutputError,
    ShapeResult,
    Status,
    Tier,
    Verdict,
)

# g++ and Triton write file:line:column, NVRTC file(line).
_ERROR_LINE = re.compile(r"^[^\s:(]+[:(](\d+)(?::\d+|\))?: (?:fatal )?error:", re.MULTILINE)
_PYTHON_ERROR_LINE = re.compile(r'^\s*File "[^"]*", line (\d+)', re.MULTILINE)

_SIGNATURE_MATTERS = frozenset({Status.COMPILE_ERROR, Status.INCORRECT_SHAPE, Status.INCORRECT_DTYPE})

WIDE_INTERVAL = 1.25
"""High over low: wider than that, a real difference of a tenth would not have been seen."""

_TRY_NEXT = {
    Language.CPP: (
        "contiguous inner loops over restrict pointers so that the compiler vectorises (vectorized_load), several "
        "accumulators (register_accumulation), fewer passes over memory (light_fusion), cheaper arithmetic in the "
        "inner loop (invariant_hoisting)"
    ),
    Language.CUDA: (
        "wider and coalesced accesses (vectorized_load), keeping data in registers or shared memory instead of reading "
        "it again (shared_memory_tiling), more work per thread (thread_coarsening), fewer launches (light_fusion)"
    ),
    Language.TRITON: (
        "other block constants, num_warps and num_stages, one pass over memory instead of several (light_fusion), more "
        "rows or columns per program (thread_coarsening), conditions (when) with constants of their own per shape"
    ),
    Language.PYTORCH: (
        "fewer and fused operations, in-place variants, no temporaries or copies (light_fusion), or the same task in "
        "language cpp"
    ),
}


def next_steps(evaluation: Evaluation, language: Language) -> tuple[str, ...]:
    """The cure for a failure, or the next call after a success."""
    if evaluation.status is Status.PASSED:
        return (_after_passed(evaluation, language),)
    if evaluation.status in NOT_ABOUT_THE_CANDIDATE:
        return (f"This says nothing about the source: call {_tool(evaluation.tier)} again with the same source.",)
    cure = f"{_cure(evaluation)}, then call {_tool(evaluation.tier)} again with the corrected source."
    if evaluation.status in _SIGNATURE_MATTERS:
        return (cure, f"The signature that the judge calls stands in task://{evaluation.task_id}.")
    return (cure,)


def _tool(tier: Tier) -> str:
    return "profile with depth=deep" if tier is Tier.DEEP else tier.value


def _after_passed(evaluation: Evaluation, language: Language) -> str:
    if evaluation.tier is Tier.COMPILE:
        if language is Language.CUDA and evaluation.device.kind == "cpu":
            return "It compiles. This host has no GPU to run it: call verify and profile on one that has."
        return "It compiles. Call verify with the same source and task to check that it is right."
    on_gpu = evaluation.device.kind == "cuda"
    if language is Language.TRITON and not on_gpu:
        return "It is correct as far as Triton's interpreter shows; its speed shows on a host with a GPU only."
    if evaluation.tier is Tier.VERIFY:
        return "It is correct. Call profile with the same source and task to measure its speedup."
    ideas = _TRY_NEXT[language]
    match evaluation.verdict:
        case Verdict.FASTER:
            return f"Faster than the baseline: keep this source. To go further, try: {ideas}; profile each change."
        case Verdict.SLOWER:
            return f"Slower than the baseline: go back to the faster source and change one thing. Try: {ideas}."
        case Verdict.SUSPECT:
            return (
                "Faster than this device can be: the timing cannot be believed. Make sure that the source computes "
                "every output from the inputs of each call, then call profile with fresh=true."
            )
        case Verdict.INCONCLUSIVE if _is_wide(evaluation):
            return "The interval is wide: the machine was busy. Profile again with fresh=true when it is quieter."
        case Verdict.INCONCLUSIVE:
            return f"No difference beyond the noise. Try a bolder change: {ideas}; then profile again."
        case Verdict.NONE:
            return "It is correct but was not timed: remove the cause in timing_unavailable, then call profile again."


def _is_wide(evaluation: Evaluation) -> bool:
    """Whether noise, rather than equal speed, kept the verdict open."""
    timing = evaluation.timing
    return isinstance(timing, MeasuredTiming) and timing.ratio_high / timing.ratio_low > WIDE_INTERVAL


def _cure(evaluation: Evaluation) -> str:
    match evaluation.status:
        case Status.COMPILE_ERROR:
            return _fix_line(evaluation.compile)
        case Status.RUNTIME_ERROR:
            return "Fix what message describes (check bounds at every shape, alignment and the return code)"
        case Status.TIMEOUT:
            return "Make it end: look for an endless loop, or cut the work of one call"
        case Status.RESOURCE_LIMIT:
            return "Use less memory, output or processes than the limit that message names"
        case Status.INCORRECT_SHAPE:
            return "Return outputs of the shapes that the task declares"
        case Status.INCORRECT_DTYPE:
            return "Return outputs of the dtypes that the task declares"
        case Status.INCORRECT_VALUES:
            return _fix_values(evaluation)
        case Status.CONSTRAINT_VIOLATION:
            return "Keep to the task's constraints: change what message names"
        case Status.INTEGRITY_VIOLATION:
            return "Remove what findings describe: a candidate may only compute its outputs from its inputs"
        case _:
            return "Remove the cause that message names"


def _fix_line(report: CompileReport | None) -> str:
    diagnostics = report.diagnostics if report else ""
    found = _ERROR_LINE.search(diagnostics)
    # A traceback names the innermost frame last, a compiler its first error first.
    python_lines = _PYTHON_ERROR_LINE.findall(diagnostics)
    line = found.group(1) if found else (python_lines[-1] if python_lines else None)
    where = f"line {line} of the source" if line else "the source"
    return f"Fix {where} (the first error in diagnostics says what is wrong)"


def _fix_values(evaluation: Evaluation) -> str:
    for shape in evaluation.shapes:
        for error in shape.errors:
            if error.tolerance_ratio > 1 or error.mismatched:
                return f"Fix output {error.output}: {_how_wrong(shape, error)}"
    return "Fix the values that message describes"


def _how_wrong(shape: ShapeResult, error: OutputError) -> str:
    symbols = ", ".join(f"{name}={value}" for name, value in shape.symbols.items())
    at = f" at {symbols}" if symbols else ""
    data = f" with {shape.failed_case} data" if shape.failed_case else ""
    values = f", worst at index {list(error.worst_index)}" if error.worst_index else ""
    if error.worst_value is not None and error.worst_expected is not None:
        values += f" (got {error.worst_value:.6g}, expected {error.worst_expected:.6g})"
        if not math.isfinite(error.worst_value) and math.isfinite(error.worst_expected):
            values += "; not written, or an intermediate overflowed or was divided by zero"
    return f"{error.mismatched} of {error.elements} elements are wrong{at}{data}{values}"
