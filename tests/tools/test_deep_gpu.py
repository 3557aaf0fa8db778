"""The real ncu and compute-sanitizer around real kernels; skipped where there is no GPU or no CUDA toolkit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelguild.memory.errors import UnavailableError
from kernelguild.tools.judge.deep.ncu import find_ncu, profile
from kernelguild.tools.judge.deep.sanitizer import Check, find_sanitizer, sanitize
from kernelguild.tools.judge.deep.tool import DeepRun

# A letter chooses the kernel; the program prints what a profiler prints.
SOURCE = r"""
#include <cstdio>
__global__ void copy(const float4* a, float4* b) { size_t i = blockIdx.x * 256ull + threadIdx.x; b[i] = a[i]; }
__global__ void beyond(float* a) { a[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void race(float* a) {
  __shared__ float s[256]; s[threadIdx.x] = a[threadIdx.x]; a[threadIdx.x] = s[(threadIdx.x + 37) % 256];
}
int main(int, char** argument) {
  char which = argument[1][0]; float* a; float* b; size_t bytes = 256 << 20;
  printf("\"ID\",\"Process ID\"\n==PROF== not ncu's\n");
  if (cudaMalloc(&a, which == 'c' ? bytes : 1024) || cudaMalloc(&b, which == 'c' ? bytes : 1024)) return 3;
  if (which != 'u') cudaMemset(a, 0, which == 'c' ? bytes : 1024);
  if (which == 'c') copy<<<bytes / 16 / 256, 256>>>((float4*)a, (float4*)b);
  // Without padding this lands in b.
  if (which == 'b') beyond<<<2, 256>>>(a);
  if (which == 'u') beyond<<<1, 256>>>(a);
  if (which == 'r') race<<<1, 256>>>(a);
  cudaDeviceSynchronize();
  return 0;
}
"""
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/cuda/bin"))
NVCC = shutil.which("nvcc", path=PATH)
pytestmark = pytest.mark.skipif(
    NVCC is None or not Path("/dev/nvidiactl").exists(), reason="needs a GPU and the CUDA toolkit"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "kernels.cu").write_text(SOURCE, encoding="utf-8")
    command = [str(NVCC), "-arch=native", "-o", str(folder / "kernels"), str(folder / "kernels.cu")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "kernels"


def deep_run(program: Path, which: str) -> DeepRun:
    return DeepRun((str(program), which), {"PATH": PATH}, program.parent, timeout_s=300)


def test_a_copy_is_bound_by_dram_and_moves_what_it_must(program: Path) -> None:
    report = profile(find_ncu(PATH), deep_run(program, "c"), ["copy"]).report
    (kernel,) = report.kernels
    assert kernel.bottleneck.kind == "memory"
    # 256 MiB are read; ncu flushes the caches first, and part of what is written stays in L2.
    assert kernel.memory.dram_bytes.value == pytest.approx(2 * (256 << 20), rel=0.2)
    assert kernel.memory.global_load_sectors_per_request.value == pytest.approx(16)
    assert kernel.memory.global_load_efficiency_pct.value == pytest.approx(100)
    assert kernel.instructions.int_instructions.value is not None
    assert kernel.elapsed_cycles.value is not None


def test_a_kernel_that_was_not_named_is_not_profiled(program: Path) -> None:
    with pytest.raises(UnavailableError, match="launched none of the named kernels"):
        profile(find_ncu(PATH), deep_run(program, "c"), ["another"])


@pytest.mark.parametrize(
    ("check", "which", "kind"),
    [
        ("memcheck", "b", "out_of_bounds_access"),
        ("racecheck", "r", "race"),
        ("initcheck", "u", "uninitialised_read"),
    ],
)
def test_each_check_finds_its_planted_error_and_nothing_in_a_copy(
    program: Path, check: Check, which: str, kind: str
) -> None:
    sanitizer = find_sanitizer(PATH)
    found = sanitize(sanitizer, check, deep_run(program, which))
    assert [finding.kind for finding in found.findings] == [kind]
    assert sanitize(sanitizer, check, deep_run(program, "c")).findings == ()
