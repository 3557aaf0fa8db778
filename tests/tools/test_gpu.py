"""Device code on a GPU: right and wrong kernels of each language, and a judge that goes on after the worst."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from affine_task import Judgement, pytorch
from device_tasks import (
    CUDA_BODY,
    CUDA_PLAN,
    TRITON_BODY,
    TRITON_PLAN,
    WHY_NO_GPU,
    affine_task,
    cuda,
    example,
    triton,
)
from kernelguild.memory.schema import Evaluation, Language, MeasuredTiming, Status, Task, Tier, Verdict

pytestmark = [
    pytest.mark.skipif(bool(WHY_NO_GPU), reason=f"needs a GPU: {WHY_NO_GPU}"),
    # torch warns of GPUs whose management library says little; the judge does not need it.
    pytest.mark.filterwarnings("default"),
]
needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
STALE = """
__device__ float kept;
__device__ int calls;
__global__ void affine(const float* x, float* y, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i == 0) ++calls;
    // Right on the first call of a launcher; then the first result is handed out again.
    if (i < n) y[i] = calls > 1 && i == 0 ? kept : 2 * x[i] + 1;
    if (i == 0 && calls == 1) kept = y[0];
}
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return affine_task(tmp_path, Language.CUDA)


@pytest.fixture
def triton_task(tmp_path: Path) -> Task:
    return affine_task(tmp_path, Language.TRITON)


def faster(evaluation: Evaluation) -> MeasuredTiming:
    """The times of a candidate that must have been found faster."""
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.device.kind == "cuda"
    assert isinstance(evaluation.timing, MeasuredTiming)
    assert evaluation.verdict is Verdict.FASTER, evaluation.message
    return evaluation.timing


def test_the_faster_cuda_softmax_is_found_faster_by_the_devices_events(evaluate: Judgement) -> None:
    task, candidate = example("softmax_cuda", "in_registers.cu", Language.CUDA)
    timing = faster(evaluate(candidate, Tier.PROFILE, task))
    assert timing.method == "device_events_interleaved"
    assert timing.reference_ms is not None


def test_the_cuda_seed_is_no_faster_than_itself(evaluate: Judgement) -> None:
    task, seed = example("softmax_cuda", "seed.cu", Language.CUDA)
    evaluation = evaluate(seed, Tier.PROFILE, task)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.verdict in (Verdict.INCONCLUSIVE, Verdict.SLOWER, Verdict.FASTER)
    assert isinstance(evaluation.timing, MeasuredTiming)
    assert 0.97 < evaluation.timing.time_ratio < 1.03


@needs_triton
def test_the_one_pass_triton_softmax_is_found_faster(evaluate: Judgement) -> None:
    task, candidate = example("softmax_triton", "one_pass.py", Language.TRITON)
    timing = faster(evaluate(candidate, Tier.PROFILE, task))
    assert timing.method == "device_events_interleaved"


@needs_triton
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32", "int64"])
def test_a_right_triton_kernel_passes_in_every_dtype(evaluate: Judgement, tmp_path: Path, dtype: str) -> None:
    evaluation = evaluate(triton(), Tier.VERIFY, affine_task(tmp_path, Language.TRITON, dtype=dtype))
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.message == "every output is right at every shape"
    assert any(not shape.hidden for shape in evaluation.shapes)


@needs_triton
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (TRITON_BODY.replace("+ 1, mask", "+ 2, mask"), Status.INCORRECT_VALUES),
        (TRITON_BODY.replace(", mask=inside)\n", ")\n"), Status.RUNTIME_ERROR),
        (TRITON_BODY.replace("tl.store(y", "tl.store(x"), Status.INTEGRITY_VIOLATION),
        (TRITON_BODY.replace("x + offsets", "x + offsets.to(tl.int64) * (1 << 40)"), Status.RUNTIME_ERROR),
    ],
)
def test_a_wrong_triton_kernel_is_found(evaluate: Judgement, triton_task: Task, body: str, status: Status) -> None:
    assert evaluate(triton(body), Tier.VERIFY, triton_task).status is status
    assert evaluate(triton(), Tier.VERIFY, triton_task).status is Status.PASSED


@needs_triton
def test_a_triton_kernel_with_much_shared_memory_and_scratch_runs(evaluate: Judgement, triton_task: Task) -> None:
    plan = '''"""
kernelguild:
  scratch: [{name: half, dtype: float32, shape: [n]}]
  steps:
    - {kernel: twice, grid: ["cdiv(n, 64)"], arguments: [x, half, n], constants: {BLOCK: 64}, num_warps: 8}
    - {kernel: plus, grid: ["cdiv(n, 256)"], arguments: [half, y, n], constants: {BLOCK: 256}}
"""
import triton
import triton.language as tl
'''
    body = """
@triton.jit
def twice(x, half, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    unit = tl.where(tl.arange(0, BLOCK)[:, None] == tl.arange(0, BLOCK)[None, :], 2.0, 0.0)
    row = tl.where(tl.arange(0, BLOCK)[:, None] == 0, values[None, :], 0.0)
    tl.store(half + offsets, tl.sum(tl.dot(row, unit, input_precision="ieee"), 0), mask=offsets < n)

@triton.jit
def plus(half, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(half + offsets, mask=offsets < n) + 1, mask=offsets < n)
"""
    evaluation = evaluate(triton(body, plan), Tier.VERIFY, triton_task)
    assert evaluation.status is Status.PASSED, evaluation.message


@pytest.mark.parametrize(
    ("body", "statuses", "words"),
    [
        (CUDA_BODY.replace("+ 1;", "+ 2;"), {Status.INCORRECT_VALUES}, "y is wrong at"),
        (CUDA_BODY.replace("if (i < n) y", "if (i < n - 1) y"), {Status.INCORRECT_VALUES}, "y is wrong at"),
        (CUDA_BODY.replace("if (i < n) y", "if (i <= n) y"), {Status.RUNTIME_ERROR}, "wrote past the end"),
        (CUDA_BODY.replace("const float* x", "float* x").replace("y[i] =", "y[i] = x[i] ="),
         {Status.INTEGRITY_VIOLATION}, "changed its input x"),
        (CUDA_BODY.replace("y[i] =", "y[i + (1ll << 40)] ="), {Status.RUNTIME_ERROR}, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (CUDA_BODY.replace("if (i", "__trap();\n    if (i"), {Status.RUNTIME_ERROR}, "CUDA_ERROR_"),
        (CUDA_BODY.replace("if (i", "for (volatile int s = 0;;) s = s + 1;\n    if (i"), {Status.TIMEOUT}, "than 5 s"),
        (STALE, {Status.INCORRECT_VALUES}, "y is wrong at"),
    ],
)  # fmt: skip
def test_a_wrong_cuda_kernel_is_found_and_the_judge_goes_on(
    evaluate: Judgement, task: Task, body: str, statuses: set[Status], words: str
) -> None:
    evaluation = evaluate(cuda(body), Tier.VERIFY, task)
    assert evaluation.status in statuses, evaluation.message
    assert words in evaluation.message
    assert evaluate(cuda(), Tier.VERIFY, task).status is Status.PASSED


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("block: [256]", "block: [256], arguments: [x, y, n, n]", "takes 3 arguments; the plan gives more"),
        ("block: [256]", "block: [256], arguments: [x, n, n]", "argument 1 takes 8 bytes"),
        ("block: [256]", "block: [256], shared_bytes: 1000000", "1000000 bytes of dynamic shared memory"),
    ],
)
def test_a_launch_that_the_driver_refuses_is_a_runtime_error(
    evaluate: Judgement, task: Task, old: str, new: str, words: str
) -> None:
    evaluation = evaluate(cuda(plan=CUDA_PLAN.replace(old, new)), Tier.VERIFY, task)
    assert evaluation.status is Status.RUNTIME_ERROR, evaluation.message
    assert words in evaluation.message


def test_scratch_that_is_read_before_it_is_written_is_garbage(evaluate: Judgement, task: Task) -> None:
    body = """
__global__ void affine(const float* x, float* y, float* sum, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = 2 * x[i] + 1 + sum[0];
}
"""
    plan = CUDA_PLAN.replace("  steps", "  scratch: [{name: sum, dtype: float32, shape: [1]}]\n  steps")
    assert evaluate(cuda(body, plan), Tier.VERIFY, task).status is Status.INCORRECT_VALUES
    zeroed = plan.replace("shape: [1]", "shape: [1], zeroed: true")
    assert evaluate(cuda(body, zeroed), Tier.VERIFY, task).status is Status.PASSED


def test_a_pytorch_candidate_runs_on_the_gpu(evaluate: Judgement, task: Task) -> None:
    right = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x + 1\n"
    evaluation = evaluate(pytorch(right), Tier.PROFILE, task)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert isinstance(evaluation.timing, MeasuredTiming)
    on_host = right.replace("2 * x + 1", "(2 * x.cpu() + 1).sum()")
    assert evaluate(pytorch(on_host), Tier.VERIFY, task).status is Status.INCORRECT_SHAPE


@needs_triton
def test_plan_constants_choose_the_form(evaluate: Judgement, triton_task: Task) -> None:
    plan = TRITON_PLAN.replace("cdiv(n, 256)", "1").replace("{BLOCK: 256}", "{BLOCK: next_power_of_2(n)}")
    evaluation = evaluate(triton(plan=plan), Tier.VERIFY, triton_task)
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.compile is not None
    assert "BLOCK=4096" in {kernel.variant.split(",")[0] for kernel in evaluation.compile.kernels}
