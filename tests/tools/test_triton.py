"""Triton candidates without host code: compiled without a GPU, interpreted without a GPU, refused with reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from affine_task import Judgement
from device_tasks import TRITON_BODY, TRITON_PLAN, WHY_NO_GPU, affine_task, example, triton
from kernelguild.memory.errors import UnavailableError
from kernelguild.memory.schema import Candidate, Evaluation, Language, Status, Task, Tier

pytest.importorskip("triton", reason="Triton is not installed (pip install 'kernelguild[triton]')")
interpreted = pytest.mark.skipif(not WHY_NO_GPU, reason="this host has a GPU: candidates run there")


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return affine_task(tmp_path, Language.TRITON)


def compile_error(evaluation: Evaluation) -> str:
    """What the user is shown of a failed compilation."""
    assert evaluation.status is Status.COMPILE_ERROR, evaluation.message
    assert evaluation.compile is not None
    return evaluation.compile.diagnostics


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.skipif(not WHY_NO_GPU, reason="this host compiles for its own GPU")
def test_it_is_compiled_without_a_gpu_and_its_resources_are_reported(
    evaluate: Judgement, tmp_path: Path, arch: str
) -> None:
    evaluation = evaluate(triton(), Tier.COMPILE, affine_task(tmp_path, Language.TRITON, arch=arch))
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.compile is not None
    timed, *hidden = evaluation.compile.kernels
    assert (timed.kernel, timed.target) == ("affine", arch)
    assert timed.registers
    assert timed.registers > 0
    assert (timed.shared_bytes, timed.spill_store_bytes, timed.spill_load_bytes) == (0, 0, 0)
    # The timed length is a multiple of 16, which Triton compiles faster code for; hidden lengths are not.
    assert timed.variant == "BLOCK=256, argument 2 % 16 == 0, num_warps=4, num_stages=3"
    assert [kernel.variant for kernel in hidden] == ["BLOCK=256, num_warps=4, num_stages=3"]
    assert {artifact.name for artifact in evaluation.artifacts} >= {"module0.cubin", "module0.ptx"}


def test_spills_are_reported(evaluate: Judgement, task: Task) -> None:
    plan = TRITON_PLAN.replace("256", "16384").replace("16384}", "16384}\n      num_warps: 1")
    # The sum needs all values before any may be given up: 512 for each of the 32 threads.
    body = TRITON_BODY.replace("2 * tl.load(x + offsets, mask=inside) + 1", "values * tl.sum(values)").replace(
        "    tl.store", "    values = tl.load(x + offsets, mask=inside)\n    tl.store"
    )
    evaluation = evaluate(triton(body, plan), Tier.COMPILE, task)
    assert evaluation.compile is not None
    assert evaluation.status is Status.PASSED, evaluation.message
    assert (evaluation.compile.kernels[0].spill_store_bytes or 0) > 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("\n@triton.jit\ndef other(x, y, n):\n    pass\n", "kernel 'affine', which the file does not define"),
        ("\ndef affine(x, y, n):\n    pass\n", "'affine' is a function; a kernel is a @triton.jit function"),
        (
            TRITON_BODY.replace("@triton.jit", "@triton.autotune([triton.Config({})], key=[])\n@triton.jit"),
            "is a Autotuner, not a plain @triton.jit function: state configurations in the launch plan",
        ),
        (TRITON_BODY.replace("x, y, n, BLOCK", "x, y, n, m, BLOCK"), "takes 4 arguments (x, y, n, m); the launch plan"),
        (TRITON_BODY.replace("BLOCK: tl", "SIZE: tl"), "has no tl.constexpr 'BLOCK' (it has: SIZE)"),
        (
            TRITON_BODY.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, MORE: tl.constexpr"),
            "the launch plan gives kernel affine no `constants: {MORE: ...}`",
        ),
        (TRITON_BODY.replace("inside =", "inside = missing +"), "candidate.py:16:14: error: NameError('missing is"),
        (TRITON_BODY.replace("arange(0, BLOCK)", "arange(0, 100)"), "range must be a power of 2"),
        (TRITON_BODY.replace("    inside", "   inside"), "candidate.py:16:"),
        ("\nimport numpy.nothing\n" + TRITON_BODY, "candidate.py:13: error: ModuleNotFoundError"),
        ("\nraise SystemExit(0)\n", "candidate.py:13: error: SystemExit: 0"),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_shown_with_its_line(evaluate: Judgement, task: Task, body: str, words: str) -> None:
    assert words in compile_error(evaluate(triton(body), Tier.COMPILE, task))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ('import triton\nimport triton.language as tl\n', "candidate.py:1: error: no launch plan"),
        (TRITON_PLAN.replace("cdiv(n, 256)", "cdiv(m, 256)"), "unknown symbol 'm' (known: "),
        (TRITON_PLAN.replace("{BLOCK: 256}", "{BLOCK: n // 0}"), "steps.0.constants.BLOCK: 'n // 0': division by zero"),
        (TRITON_PLAN.replace("grid", "gird"), "candidate.py:5"),
        (
            TRITON_PLAN.replace("  steps:", "  tensor_maps: [{name: m, tensor: x, box: [1]}]\n  steps:").replace(
                "      constants", "      arguments: [m, y, n]\n      constants"
            ),
            "tensor map m: Triton kernels take no tensor maps",
        ),
        (TRITON_PLAN.replace("      constants", "      cluster: [2]\n      constants"), "cluster is for cuda kernels"),
    ],
)  # fmt: skip
def test_a_launch_plan_that_does_not_fit_is_a_compile_error(
    evaluate: Judgement, task: Task, plan: str, words: str
) -> None:
    assert words in compile_error(evaluate(triton(plan=plan), Tier.COMPILE, task))


def test_an_error_in_a_helper_is_shown_at_the_helpers_line(evaluate: Judgement, task: Task) -> None:
    helper = "\n@triton.jit\ndef twice(values):\n    return tl.nothing(values)\n"
    body = helper + TRITON_BODY.replace("2 * tl.load(x + offsets, mask=inside)", "twice(tl.load(x + offsets))")
    shown = compile_error(evaluate(triton(body), Tier.COMPILE, task))
    assert shown.startswith("candidate.py:15:12: error: ")
    assert "return tl.nothing(values)" in shown


def test_more_shared_memory_than_a_block_has_is_a_compile_error(evaluate: Judgement, task: Task) -> None:
    body = """
@triton.jit
def affine(x, y, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    square = rows[:, None] * BLOCK + rows[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n):
        total += tl.dot(tl.load(x + square + k).to(tl.float16), tl.load(x + square + 2 * k).to(tl.float16))
    tl.store(y + square, total)
"""
    plan = TRITON_PLAN.replace("{BLOCK: 256}", "{BLOCK: 128}\n      num_stages: 12")
    shown = compile_error(evaluate(triton(body, plan), Tier.COMPILE, task))
    assert "bytes of shared memory a block" in shown
    assert "fewer num_stages need less" in shown


def test_a_file_that_never_finishes_is_stopped(evaluate: Judgement, task: Task) -> None:
    short = task.model_copy(update={"constraints": task.constraints.model_copy(update={"compile_timeout_s": 2.0})})
    evaluation = evaluate(triton("\nwhile True:\n    pass\n"), Tier.COMPILE, short)
    assert evaluation.status is Status.TIMEOUT
    assert "compiling took more than 2 s" in evaluation.message


@pytest.mark.parametrize(
    "product", ['"no product"', '{"variants": []}', '{"variants": [{"cubin": "?"}, {}]}', "[" * 5000]
)
def test_a_file_that_writes_a_product_of_its_own_gets_nowhere(evaluate: Judgement, task: Task, product: str) -> None:
    body = f"\nimport os\nopen('product.json', 'w').write({product!r})\nos._exit(0)\n"
    assert evaluate(triton(body), Tier.COMPILE, task).status is Status.COMPILE_ERROR
    assert evaluate(triton(), Tier.COMPILE, task).status is Status.PASSED


@pytest.mark.parametrize("path", ["/etc/passwd", "{folder}/reference.py", "{folder}/task.yaml"])
def test_the_file_cannot_read_what_is_not_its_own(evaluate: Judgement, task: Task, tmp_path: Path, path: str) -> None:
    body = f"\nprint(open({path.format(folder=tmp_path)!r}).read())\n" + TRITON_BODY
    assert "FileNotFoundError" in compile_error(evaluate(triton(body), Tier.COMPILE, task))


@interpreted
def test_a_right_kernel_passes_in_the_interpreter_which_says_what_it_is(evaluate: Judgement, task: Task) -> None:
    evaluation = evaluate(triton(), Tier.PROFILE, task)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert "in Triton's interpreter, 1 of the task's own among them; it was not run on a GPU" in evaluation.message
    assert evaluation.timing.kind == "unavailable"
    assert "says nothing of its speed" in evaluation.timing.reason
    assert len([shape for shape in evaluation.shapes if shape.hidden]) >= 3


@interpreted
@pytest.mark.parametrize("name", ["seed.py", "one_pass.py"])
def test_shapes_too_large_for_the_interpreter_are_left_out_and_smaller_ones_stand_in(
    evaluate: Judgement, name: str
) -> None:
    softmax, candidate = example("softmax_triton", name, Language.TRITON)
    evaluation = evaluate(candidate, Tier.VERIFY, softmax)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert "too large for it and were not run" in evaluation.message
    assert len(evaluation.shapes) >= 3
    assert all(shape.hidden and shape.symbols["rows"] <= 200 for shape in evaluation.shapes)
    # The timed row length is kept: it decides which code runs.
    assert any(shape.symbols["cols"] == 4096 for shape in evaluation.shapes)


@interpreted
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64"])
def test_the_interpreter_knows_the_dtypes(evaluate: Judgement, tmp_path: Path, dtype: str) -> None:
    evaluation = evaluate(triton(), Tier.VERIFY, affine_task(tmp_path, Language.TRITON, dtype=dtype))
    assert evaluation.status is Status.PASSED, evaluation.message


@interpreted
def test_bfloat16_is_checked_where_the_interpreter_only_moves_it(evaluate: Judgement, tmp_path: Path) -> None:
    task = affine_task(tmp_path, Language.TRITON, dtype="bfloat16")
    widened = TRITON_BODY.replace("mask=inside) + 1", "mask=inside).to(tl.float32) + 1")
    evaluation = evaluate(triton(widened), Tier.VERIFY, task)
    assert evaluation.status is Status.PASSED, evaluation.message
    with pytest.raises(UnavailableError, match="computes in bfloat16, which Triton's interpreter does wrongly"):
        evaluate(triton(), Tier.VERIFY, task)
    assert evaluate(triton(), Tier.COMPILE, task).status is Status.PASSED


@interpreted
def test_scratch_and_several_steps_run_in_order(evaluate: Judgement, task: Task) -> None:
    plan = '''"""
kernelguild:
  scratch: [{name: half, dtype: float32, shape: [n]}, {name: one, dtype: float32, shape: [1], zeroed: true}]
  steps:
    - {kernel: first, grid: ["cdiv(n, 256)"], arguments: [half, x, one, n], constants: {BLOCK: 256}}
    - {kernel: second, grid: ["cdiv(n, 256)"], arguments: [half, y, one, n], constants: {BLOCK: 256}}
"""
import triton
import triton.language as tl
'''
    body = """
@triton.jit
def first(half, x, one, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(half + offsets, 2 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)
    if tl.program_id(0) == 0:
        tl.atomic_add(one, 1.0)

@triton.jit
def second(half, y, one, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(half + offsets, mask=offsets < n) + tl.load(one), mask=offsets < n)
"""
    evaluation = evaluate(triton(body, plan), Tier.VERIFY, task)
    assert evaluation.status is Status.PASSED, evaluation.message


@interpreted
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (TRITON_BODY.replace("+ 1, mask", "+ 2, mask"), Status.INCORRECT_VALUES, "y is wrong at"),
        (TRITON_BODY.replace(", mask=inside)\n", ")\n"), Status.RUNTIME_ERROR, "wrote past the end of (or before) y"),
        (TRITON_BODY.replace("offsets < n", "offsets < n // 256 * 256"), Status.INCORRECT_VALUES, "hidden shape"),
        (TRITON_BODY.replace("tl.store(y", "tl.store(x"), Status.INTEGRITY_VIOLATION, "changed its input x"),
        (TRITON_BODY.replace("y + offsets", "y + offsets + (1 << 30)"), Status.RUNTIME_ERROR, "SIGSEGV"),
        (
            "\nimport os\nif os.environ.get('TRITON_INTERPRET'):\n    os.kill(os.getpid(), 9)\n" + TRITON_BODY,
            Status.RESOURCE_LIMIT,
            "killed",
        ),
    ],
)  # fmt: skip
def test_a_wrong_kernel_is_found_in_the_interpreter(
    evaluate: Judgement, task: Task, body: str, status: Status, words: str
) -> None:
    evaluation = evaluate(triton(body), Tier.VERIFY, task)
    assert evaluation.status is status, evaluation.message
    assert words in evaluation.message
    assert evaluate(triton(), Tier.VERIFY, task).status is Status.PASSED


@interpreted
def test_a_file_that_behaves_otherwise_when_interpreted_gains_nothing(evaluate: Judgement, task: Task) -> None:
    body = TRITON_BODY + "\nimport os\nif os.environ.get('TRITON_INTERPRET'):\n    affine = print\n"
    evaluation = evaluate(triton(body), Tier.VERIFY, task)
    assert evaluation.status is Status.RUNTIME_ERROR
    assert "a kernel is a @triton.jit function" in evaluation.message


@interpreted
def test_what_the_interpreter_would_not_finish_is_left_to_a_gpu(evaluate: Judgement, task: Task) -> None:
    plan = TRITON_PLAN.replace("cdiv(n, 256)", "cdiv(n, 256) + 1000")
    with pytest.raises(UnavailableError, match=r"more than 200 program instances .* it needs a GPU"):
        evaluate(triton(plan=plan), Tier.VERIFY, task)
    assert evaluate(triton(plan=plan), Tier.COMPILE, task).status is Status.PASSED


@interpreted
def test_a_processor_task_takes_triton_candidates_too(evaluate: Judgement, affine: Task) -> None:
    candidate = Candidate(language=Language.TRITON, source=triton().source)
    assert evaluate(candidate, Tier.VERIFY, affine).status is Status.PASSED
