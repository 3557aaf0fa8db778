"""Small GPU tasks, and candidates of device code for them."""

from __future__ import annotations

from pathlib import Path

from kernelguild.memory.schema import Candidate, Language, Task
from kernelguild.tools.judge.device import site_of
from kernelguild.tools.tasks import load_task

EXAMPLES = Path(__file__).parents[2] / "examples"
WHY_NO_GPU = site_of("cuda").why_no_gpu

TASK = """\
schema_version: 1
name: affine_{dtype}
device: {device}
reference: {{file: reference.py, function: affine}}
seed_implementation: {{file: {seed}, language: {language}}}
symbols: {{n: {{min: 1, max: 1000000}}}}
inputs: [{{name: x, dtype: {dtype}, shape: [n]}}]
outputs: [{{name: y, dtype: {dtype}, shape: [n]}}]
shapes: [{{n: {n}}}]
constraints: {{call_timeout_s: 5, compile_timeout_s: 60, setup_timeout_s: 60, target_arch: {arch}}}
"""
REFERENCE = "def affine(x):\n    return 2 * x + 1\n"

TRITON_PLAN = '''"""
kernelguild:
  steps:
    - kernel: affine
      grid: ["cdiv(n, 256)"]
      constants: {BLOCK: 256}
"""

import triton
import triton.language as tl

'''
TRITON_BODY = """
@triton.jit
def affine(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y + offsets, 2 * tl.load(x + offsets, mask=inside) + 1, mask=inside)
"""
CUDA_PLAN = "/*\nkernelguild:\n  steps:\n    - {kernel: affine, grid: ['cdiv(n, 256)'], block: [256]}\n*/\n"
CUDA_BODY = """
__global__ void affine(const float* x, float* y, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = 2 * x[i] + 1;
}
"""


def triton(body: str = TRITON_BODY, plan: str = TRITON_PLAN) -> Candidate:
    return Candidate(language=Language.TRITON, source=plan + body)


def cuda(body: str = CUDA_BODY, plan: str = CUDA_PLAN) -> Candidate:
    return Candidate(language=Language.CUDA, source=plan + body)


def affine_task(
    folder: Path,
    language: Language,
    *,
    dtype: str = "float32",
    arch: str = "sm_90a",
    n: int = 4096,
    device: str = "cuda",
) -> Task:
    """y = 2 x + 1 with a seed in the given language."""
    seed, text = {
        Language.TRITON: ("seed.py", triton().source),
        Language.CUDA: ("seed.cu", cuda().source),
    }[language]
    (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    (folder / seed).write_text(text, encoding="utf-8")
    path = folder / "task.yaml"
    path.write_text(
        TASK.format(dtype=dtype, seed=seed, language=language.value, arch=arch, n=n, device=device), encoding="utf-8"
    )
    return load_task(path)


def example(task: str, name: str, language: Language) -> tuple[Task, Candidate]:
    """An example's task and one of its candidates."""
    folder = EXAMPLES / task
    return load_task(folder / "task.yaml"), Candidate(
        language=language, source=(folder / name).read_text(encoding="utf-8")
    )
