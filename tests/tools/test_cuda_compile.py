"""CUDA candidates at the compile tier, which needs NVRTC and no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from affine_task import Judgement
from device_tasks import CUDA_BODY, CUDA_PLAN, WHY_NO_GPU, affine_task, cuda, example
from kernelguild.memory.errors import UnavailableError
from kernelguild.memory.schema import Evaluation, Language, Status, Task, Tier

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC is not installed (pip install 'kernelguild[cuda]')")
without_gpu = pytest.mark.skipif(not WHY_NO_GPU, reason="this host compiles for its own GPU")


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return affine_task(tmp_path, Language.CUDA)


def compile_error(evaluation: Evaluation) -> str:
    """What the user is shown of a failed compilation."""
    assert evaluation.status is Status.COMPILE_ERROR, evaluation.message
    assert evaluation.compile is not None
    return evaluation.compile.diagnostics


@without_gpu
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_registers_shared_memory_and_spills_are_reported(evaluate: Judgement, tmp_path: Path, arch: str) -> None:
    body = """
__global__ void __launch_bounds__(1024, 2) affine(const float* x, float* y, int n) {
    __shared__ float shared[256];
    float kept[96];
    for (int k = 0; k < 96; ++k) kept[k] = x[(threadIdx.x * 96 + k) % n];
    shared[threadIdx.x % 256] = kept[95];
    __syncthreads();
    for (int k = 0; k < 96; ++k) y[(threadIdx.x + k) % n] = kept[k] * kept[95 - k] + shared[k];
}
"""
    evaluation = evaluate(cuda(body), Tier.COMPILE, affine_task(tmp_path, Language.CUDA, arch=arch))
    assert evaluation.status is Status.PASSED, evaluation.message
    assert evaluation.compile is not None
    (kernel,) = evaluation.compile.kernels
    assert kernel.target == arch
    assert (kernel.registers, kernel.shared_bytes) == (32, 1024)
    assert (kernel.spill_store_bytes or 0) > 0
    assert (kernel.spill_load_bytes or 0) > 0
    assert "module0.cubin" in {artifact.name for artifact in evaluation.artifacts}


@pytest.mark.parametrize("name", ["seed.cu", "in_registers.cu"])
def test_the_examples_compile(evaluate: Judgement, name: str) -> None:
    task, candidate = example("softmax_cuda", name, Language.CUDA)
    evaluation = evaluate(candidate, Tier.COMPILE, task)
    assert evaluation.status is Status.PASSED, evaluation.message


@pytest.mark.parametrize(
    "body",
    [
        'extern "C" ' + CUDA_BODY.strip(),
        "#include <cuda_fp16.h>\n" + CUDA_BODY.replace("2 * x[i]", "__half2float(__half(2)) * x[i]"),
        "template <class T> __device__ T twice(T v) { return 2 * v; }" + CUDA_BODY.replace("2 * x[i]", "twice(x[i])"),
        CUDA_BODY.replace("int n", "int64_t n").replace("2 * x[i]", "(x[i] < INFINITY ? 2 : 2) * x[i]"),
        CUDA_BODY.replace("int n", "int n, CUtensorMap* unused"),
    ],
)  # fmt: skip
def test_what_device_code_usually_needs_is_there(evaluate: Judgement, task: Task, body: str) -> None:
    evaluation = evaluate(cuda(body), Tier.COMPILE, task)
    assert evaluation.status is Status.PASSED, evaluation.message + str(evaluation.compile)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (CUDA_BODY.replace("2 * x[i]", "2 * z[i]"), 'candidate.cu(9): error: identifier "z" is undefined'),
        (CUDA_BODY.replace("affine", "other"), "affine"),
        ("#include <vector>\n" + CUDA_BODY, "vector"),
        ('#include "/etc/passwd"\n' + CUDA_BODY, "passwd"),
        ("#error stop here\n" + CUDA_BODY, "stop here"),
    ],
)
def test_what_does_not_compile_is_shown_with_its_line(evaluate: Judgement, task: Task, body: str, words: str) -> None:
    assert words in compile_error(evaluate(cuda(body), Tier.COMPILE, task))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("", "candidate.cu:1: error: no launch plan"),
        (CUDA_PLAN.replace("grid", "gird"), "candidate.cu:4"),
        (CUDA_PLAN.replace("cdiv(n", "cdiv(m"), "unknown symbol 'm' (known: device.sm_count, n)"),
        (CUDA_PLAN.replace("[256]", "[2048]"), "steps.0.block: [2048, 1, 1] is beyond the limit"),
        (CUDA_PLAN.replace("  steps", " steps: ]"), "candidate.cu:"),
        (CUDA_PLAN.replace("kernel: affine", "kernel: 'affine<int>'"), "candidate.cu:4"),
    ],
)
def test_a_launch_plan_that_does_not_fit_is_a_compile_error(
    evaluate: Judgement, task: Task, plan: str, words: str
) -> None:
    assert words in compile_error(evaluate(cuda(plan=plan), Tier.COMPILE, task))


@without_gpu
def test_without_a_gpu_the_higher_tiers_are_unavailable(evaluate: Judgement, task: Task) -> None:
    for tier in (Tier.VERIFY, Tier.PROFILE):
        with pytest.raises(UnavailableError, match=r"run on a GPU only, and .*; the compile tier works here"):
            evaluate(cuda(), tier, task)
