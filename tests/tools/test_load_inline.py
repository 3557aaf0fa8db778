"""KernelBench candidates with `load_inline`: built once by the judge, refused where hostile, watched where they run."""

from __future__ import annotations

import _ctypes
from pathlib import Path

import pytest

from affine_task import Judgement, pytorch
from kernelguild.memory.schema import Candidate, Constraints, Evaluation, Status, Task, Tier
from kernelguild.tools.judge.extension.call import MAX_RECORD_BYTES, call_of
from kernelguild.tools.judge.extension.diagnostics import in_candidate
from kernelguild.tools.judge.extension.recorder import RECORD_NAME
from kernelguild.tools.judge.extension.store import ENTRY_NAME
from kernelguild.tools.tasks import load_task

FOLDER = Path(__file__).parents[2] / "examples" / "swish_kernelbench"
INLINE = (FOLDER / "model_new_inline.py").read_text(encoding="utf-8")
RETURN = "return extension.swish(x)"
NO_KERNEL = """\
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)
"""
MATMUL = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x @ y


def get_inputs():
    return [torch.randn(8, 16), torch.randn(16, 8)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def swish() -> Task:
    return load_task(f"kernelbench-cpu:{FOLDER / 'problem.py'}")


def with_forward(text: str) -> Candidate:
    """The example, whose extension is built once a run, with another body of `forward`."""
    assert RETURN in INLINE
    return pytorch(INLINE.replace(RETURN, text))


def kinds(evaluation: Evaluation) -> set[str]:
    return {finding.kind for finding in evaluation.findings}


def forbidding(task: Task, kind: str) -> Task:
    constraints = Constraints.model_validate({**task.constraints.model_dump(), "forbid": (kind,)})
    return task.model_copy(update={"constraints": constraints})


def test_an_extension_is_built_by_the_judge_once_and_kept(evaluate: Judgement, swish: Task, kept: Path) -> None:
    first = evaluate(pytorch(INLINE), Tier.VERIFY, swish)
    assert first.status is Status.PASSED, first.message
    assert first.findings == ()
    assert first.compile is not None
    assert "-DTORCH_EXTENSION_NAME=swish_inline" in first.compile.command
    again = evaluate(with_forward(f"{RETURN}  # other text, the same extension"), Tier.VERIFY, swish)
    assert again.status is Status.PASSED, again.message
    assert again.compile is not None
    assert again.compile.cached
    assert again.compile.command == first.compile.command
    assert again.compile.duration_s < first.compile.duration_s / 4
    # What lies on disk is checked, so that a damaged library is built again and never loaded.
    (entry,) = kept.glob(f"extensions/*/{ENTRY_NAME}")
    assert entry.parents[1].stat().st_mode & 0o077 == 0


def test_what_does_not_compile_is_reported_at_the_candidates_own_line(evaluate: Judgement, swish: Task) -> None:
    broken = INLINE.replace("auto y = torch::empty_like(x);", "auto y = torch::empty_lik(x);")
    evaluation = evaluate(pytorch(broken), Tier.COMPILE, swish)
    assert evaluation.status is Status.COMPILE_ERROR
    line = 1 + next(number for number, text in enumerate(broken.splitlines()) if "empty_lik(" in text)
    assert f"candidate.py:{line}:" in evaluation.message
    assert "'empty_lik' is not a member of 'torch'" in evaluation.message
    assert evaluation.compile is not None
    assert not evaluation.compile.ok
    assert evaluation.compile.diagnostics.startswith(f"candidate.py:{line}:")


def test_nvccs_words_are_placed_in_the_candidate_too() -> None:
    call = call_of({"name": "a", "cpp_sources": "int f();", "cuda_sources": "int a;\nint b\n", "functions": ["f"]})
    log = "cuda.cu(5): error: expected a ';'\nmain.cpp:2:5: note: here\nmain.cpp:(.text+0x1): undefined reference to f"
    source = 'CPP = "int f();"\nCUDA = """int a;\nint b\n"""\n'
    assert in_candidate(log, call, source).splitlines() == [
        "candidate.py:3: error: expected a ';'",
        "candidate.py:1:5: note: here",
        "main.cpp:(.text+0x1): undefined reference to f",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("name='../../escape', cpp_sources=''", "load_inline: name"),
        ("name='a', cpp_sources='x' * (1 << 21)", "load_inline: cpp_sources"),
        ("name='a', cpp_sources='', extra_ldflags=['@/etc/passwd']", "'@/etc/passwd' is not allowed"),
        ("name='a', cpp_sources='', extra_ldflags=['-Wl,@/etc/passwd']", "is not allowed"),
        ("name='a', cpp_sources='', extra_cflags=['-O2 -fplugin=/tmp/x.so']", "'-fplugin=/tmp/x.so' is not allowed"),
        ("name='a', cpp_sources='', extra_include_paths=['/root']", "extra_include_paths: '/root'"),
        ("name='a', cpp_sources='', extra_include_paths=['/usr/../root']", "extra_include_paths"),
        ("name='a', cpp_sources='', functions=['f); system(\"id\"']", "load_inline: functions"),
        ("name='a', cpp_sources='', cuda_sources='__global__ void k() {}'", "measured on the CPU"),
        ("name='a', cpp_sources='', sycl_sources='x'", "SYCL is not supported"),
    ],
)
def test_a_call_that_asks_for_too_much_is_refused_by_name(
    evaluate: Judgement, swish: Task, arguments: str, message: str
) -> None:
    call = f"extension = load_inline({arguments})\n"
    evaluation = evaluate(pytorch(f"from torch.utils.cpp_extension import load_inline\n{call}{NO_KERNEL}"), task=swish)
    assert evaluation.status is Status.COMPILE_ERROR, evaluation.message
    assert message in evaluation.message


def test_files_are_not_loaded_and_the_cure_is_named(evaluate: Judgement, swish: Task) -> None:
    source = f"import torch.utils.cpp_extension as e\nm = e.load(name='a', sources=['a.cpp'])\n{NO_KERNEL}"
    evaluation = evaluate(pytorch(source), task=swish)
    assert evaluation.status is Status.COMPILE_ERROR
    assert "load_inline as strings" in evaluation.message


@pytest.mark.parametrize(
    ("lie", "status"),
    [
        (f"open(path, 'wb').write(b'x' * {MAX_RECORD_BYTES + 1})", Status.COMPILE_ERROR),
        ("open(path, 'wb').write(bytes(range(256)))", Status.COMPILE_ERROR),
        ("open(path, 'w').write('[' * 100000)", Status.COMPILE_ERROR),
        ('open(path, "w").write(\'{"calls": [{"name": "../x", "cpp_sources": ["x"]}]}\')', Status.COMPILE_ERROR),
        ("os.symlink('/etc/passwd', path)", Status.RUNTIME_ERROR),
        ("os.mkfifo(path)", Status.RUNTIME_ERROR),
        ("os.mkdir(path)", Status.RUNTIME_ERROR),
        ("None", Status.RUNTIME_ERROR),
    ],
)
def test_a_worker_that_lies_about_its_calls_gains_nothing(
    evaluate: Judgement, swish: Task, lie: str, status: Status
) -> None:
    source = f"# cpp_extension\nimport os\npath = {RECORD_NAME!r}\n{lie}\nos._exit(0)\n{NO_KERNEL}"
    evaluation = evaluate(pytorch(source), task=swish)
    assert evaluation.status is status, evaluation.message
    assert "root:" not in evaluation.model_dump_json()


def test_an_endless_list_of_extensions_ends(evaluate: Judgement, swish: Task) -> None:
    calls = "".join(f"load_inline(name='a{number}', cpp_sources='int i;')\n" for number in range(9))
    evaluation = evaluate(pytorch(f"from torch.utils.cpp_extension import load_inline\n{calls}{NO_KERNEL}"), task=swish)
    assert evaluation.status is Status.COMPILE_ERROR
    assert "at most 8" in evaluation.message


def test_a_kernel_that_the_outputs_do_not_need_is_found(evaluate: Judgement, swish: Task) -> None:
    decoy = with_forward("extension.swish(x)\n        return torch.nn.functional.silu(x)")
    evaluation = evaluate(decoy, task=swish)
    assert evaluation.status is Status.PASSED
    (finding,) = evaluation.findings
    assert finding.kind == "no_custom_kernel"
    assert "even when all that swish gave is replaced by NaN" in finding.evidence
    assert "silu" in finding.evidence


def test_a_model_without_a_kernel_is_named_and_refused_where_the_task_forbids_it(
    evaluate: Judgement, swish: Task
) -> None:
    assert kinds(evaluate(pytorch(NO_KERNEL), task=swish)) == {"no_custom_kernel"}
    refused = evaluate(pytorch(NO_KERNEL), task=forbidding(swish, "no_custom_kernel"))
    assert refused.status is Status.CONSTRAINT_VIOLATION
    assert "no_custom_kernel" in refused.message
    assert kinds(refused) == {"no_custom_kernel"}


def test_an_output_that_is_one_buffer_in_every_call_is_found(evaluate: Judgement, swish: Task) -> None:
    keeper = with_forward(
        "self.kept = getattr(self, 'kept', torch.empty_like(x))\n        return self.kept.copy_(extension.swish(x))"
    )
    assert kinds(evaluate(keeper, task=swish)) == {"output_buffer_reused"}


def test_fewer_bits_than_declared_are_found(evaluate: Judgement, swish: Task) -> None:
    loose = swish.model_copy(update={"tolerance": swish.tolerance.model_copy(update={"relative": 0.01, "rms": 0.01})})
    assert kinds(evaluate(with_forward(RETURN), task=loose)) == set()
    evaluation = evaluate(with_forward(f"{RETURN}.bfloat16().float()"), task=loose)
    assert evaluation.status is Status.PASSED
    (finding,) = evaluation.findings
    assert finding.kind == "reduced_precision"
    assert "about 8 bits are right" in finding.evidence


def test_a_library_that_the_candidate_loads_is_found(evaluate: Judgement, swish: Task) -> None:
    load = f"import ctypes, shutil\nshutil.copyfile({_ctypes.__file__!r}, 'libopenblas.so')\n"
    source = f"{load}library = ctypes.CDLL('./libopenblas.so')\n{NO_KERNEL}"
    evaluation = evaluate(pytorch(source), task=swish)
    assert evaluation.status is Status.PASSED, evaluation.message
    # Code of its own may have computed the outputs: nobody says that there is no kernel.
    (finding,) = evaluation.findings
    assert finding.kind == "vendor_library"
    assert "libopenblas.so" in finding.evidence


def test_a_vendors_product_is_found(evaluate: Judgement, tmp_path: Path) -> None:
    problem = tmp_path / "matmul.py"
    problem.write_text(MATMUL, encoding="utf-8")
    task = load_task(f"kernelbench-cpu:{problem}")
    evaluation = evaluate(pytorch(MATMUL.replace("class Model(", "class ModelNew(")), task=task)
    assert kinds(evaluation) == {"no_custom_kernel", "vendor_library"}
    refused = evaluate(
        pytorch(MATMUL.replace("class Model(", "class ModelNew(")), task=forbidding(task, "vendor_library")
    )
    assert refused.status is Status.CONSTRAINT_VIOLATION
    assert "mm" in refused.message
