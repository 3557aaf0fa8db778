"""Launch plans: found in the leading comment, read as YAML with the file's own lines, worked out within limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_tasks import example
from kernelguild.memory.errors import ConfigError
from kernelguild.memory.schema import Language, LaunchPlan
from kernelguild.resources.task import task_markdown
from kernelguild.tools.judge.arena import TensorPlan
from kernelguild.tools.judge.device_code import DeviceCode, Variant, resolve_steps, variant_key
from kernelguild.tools.judge.plan_text import has_plan, read_plan
from kernelguild.tools.judge.problem import Signature

YAML = "kernelguild:\n  steps:\n    - {kernel: k, grid: [rows]}\n"
SIGNATURE = Signature(
    inputs=(TensorPlan("x", "float32", (8, 3)),),
    outputs=(TensorPlan("y", "float32", (8, 3)),),
    symbols=(8, 3),
    symbol_names=("rows", "cols"),
)
SYMBOLS = {"rows": 8, "cols": 3}


def commented(marker: str) -> str:
    return "".join(f"{marker} {line}\n" for line in YAML.splitlines())


def plan_of(steps: str, more: str = "") -> LaunchPlan:
    return read_plan(f"/*\nkernelguild:\n  steps: [{{{steps}}}]\n{more}*/\n", Language.CUDA)


def launched(steps: str, more: str = "", sm_count: int = 132) -> dict[str, object]:
    """What the launcher is told for the first step."""
    launches = DeviceCode(plan_of(steps, more), ()).launches(SIGNATURE, SYMBOLS, sm_count)
    first: dict[str, object] = launches["steps"][0]
    return first


@pytest.mark.parametrize(
    ("source", "language"),
    [
        (f"/*\n{YAML}*/\n", Language.CUDA),
        (f"\n\n  /*\n *\n{YAML}*/ int code;\n", Language.CUDA),
        (commented("//") + "int code;\n", Language.CUDA),
        (commented("#") + "import triton\n", Language.TRITON),
        ("#\n" + commented("#"), Language.TRITON),
        (f'"""\n{YAML}"""\nimport triton\n', Language.TRITON),
        (f"# A licence.\n'''\n{YAML}'''\n", Language.TRITON),
    ],
)
def test_the_plan_is_found_in_every_form_of_leading_comment(source: str, language: Language) -> None:
    assert read_plan(source, language).steps[0].kernel == "k"


@pytest.mark.parametrize(
    "source",
    ["", "int code;\n" + f"/*\n{YAML}*/\n", "/* none */", "// none\n", f'const char* plan = R"(\n{YAML})";', "/* open"],
)
def test_a_plan_elsewhere_is_no_plan(source: str) -> None:
    with pytest.raises(ConfigError, match=r"candidate\.cu:1: error: no launch plan: the file starts with a comment"):
        read_plan(source, Language.CUDA)


@pytest.mark.parametrize("source", ["class ModelNew: ...\n", '"""Says kernelguild: twice."""\n', "x = (\n", "\0"])
def test_a_python_file_without_a_plan_is_no_device_code(source: str) -> None:
    assert not has_plan(source)


@pytest.mark.parametrize(
    ("source", "language", "words"),
    [
        ("/*\nkernelguild:\n  steps:\n    - {kernel: k}\n*/\n", Language.CUDA, r"candidate\.cu:4"),
        ("// kernelguild:\n//   steps:\n//     - {kernel: k, blok: [1]}\n", Language.CUDA, r"candidate\.cu:3"),
        ('\n\n"""\nkernelguild:\n  steps: [\n"""\n', Language.TRITON, r"candidate\.py:[56]"),
        ("# kernelguild:\n#   steps: []\n", Language.TRITON, r"candidate\.py:2"),
        ("/*\nkernelguild:\n  steps: &a [*a]\n*/\n", Language.CUDA, r"candidate\.cu"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_files_own_line(source: str, language: Language, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_plan(source, language)


def test_the_plan_that_a_tasks_contract_shows_is_one_that_the_judge_reads() -> None:
    task, _ = example("softmax_cuda", "seed.cu", Language.CUDA)
    shown = task_markdown(task).split("```yaml\n")[1].split("```")[0]
    launches = DeviceCode(read_plan(f"/*\n{shown}*/\n", Language.CUDA), ()).launches(SIGNATURE, SYMBOLS, 132)
    assert launches["steps"][0]["grid"] == (250, 1, 1)


def test_names_of_scratch_and_tensor_maps_are_unique() -> None:
    scratch = "  scratch: [{name: a, dtype: float32, shape: [1]}, {name: a, dtype: float32, shape: [1]}]\n"
    with pytest.raises(ConfigError, match="'a' is used twice"):
        plan_of("kernel: k, grid: [1]", scratch)


def test_expressions_see_the_symbols_and_the_gpus_size() -> None:
    step = launched('kernel: k, grid: ["min(rows, 2 * device.sm_count)", "cdiv(cols, 2)"], block: [32, 2]')
    assert (step["grid"], step["block"]) == ((8, 2, 1), (32, 2, 1))
    assert launched('kernel: k, grid: ["min(rows, 2 * device.sm_count)"]', sm_count=1)["grid"] == (2, 1, 1)
    assert launched("kernel: k, grid: [1], shared_bytes: 4 * next_power_of_2(cols)")["shared_bytes"] == 16


def test_arguments_default_to_tensors_scratch_and_symbols() -> None:
    scratch = "  scratch: [{name: s, dtype: float32, shape: [rows]}]\n"
    expected = (("tensor", 0), ("tensor", 1), ("scratch", 0), ("int", 8), ("int", 3))
    assert launched("kernel: k, grid: [1]", scratch)["arguments"] == expected
    assert launched("kernel: k, grid: [1], arguments: [y, rows * cols, 7]")["arguments"] == (
        ("tensor", 1),
        ("int", 24),
        ("int", 7),
    )


def test_a_step_whose_condition_is_zero_is_left_out() -> None:
    plan = plan_of("kernel: k, grid: [1], when: cols % 4 == 0")
    assert DeviceCode(plan, ()).launches(SIGNATURE, SYMBOLS, 1)["steps"] == []
    assert len(resolve_steps(plan, SIGNATURE, {**SYMBOLS, "cols": 4})) == 1


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("kernel: k, grid: [depth]", r"steps\.0\.grid: 'depth': unknown symbol 'depth' \(known: cols, device.sm_count"),
        ("kernel: k, grid: [rows - 8]", r"steps\.0\.grid: \[0\]: an extent is at least 1"),
        ("kernel: k, grid: [1, 65536]", r"steps\.0\.grid: \[1, 65536, 1\] is beyond the limit"),
        ("kernel: k, grid: [1], block: [1025]", r"steps\.0\.block: \[1025, 1, 1\] is beyond the limit"),
        ("kernel: k, grid: [1], block: [64, 32]", "at most 1024 threads a block"),
        ("kernel: k, grid: [32], cluster: [32]", "16 blocks a cluster"),
        ("kernel: k, grid: [1], shared_bytes: 0 - rows", r"shared_bytes: -8 is not within"),
        ("kernel: k, grid: [1], arguments: [z]", r"steps\.0\.arguments\.0: 'z': unknown symbol 'z'"),
        ("kernel: k, grid: [cdiv(rows, 2)]", "put an expression that holds one in quotes"),
        ("kernel: k, grid: [1], constants: {B: rows // 0}", r"steps\.0\.constants\.B: 'rows // 0': division by zero"),
    ],
)
def test_a_launch_beyond_any_device_is_refused_with_its_place(step: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        launched(step)


def test_scratch_beyond_the_limit_is_refused() -> None:
    scratch = "  scratch: [{name: s, dtype: float64, shape: [rows, 1073741824]}]\n"
    with pytest.raises(ConfigError, match="scratch: 68719476736 bytes; at most"):
        launched("kernel: k, grid: [1]", scratch)


@given(rows=st.integers(1, 10**7), cols=st.integers(1, 10**7))
def test_a_general_form_serves_what_no_special_form_was_compiled_for(rows: int, cols: int) -> None:
    plan = plan_of("kernel: k, grid: [rows], arguments: [x, y, cols]")
    (resolved,) = resolve_steps(plan, SIGNATURE, {"rows": rows, "cols": cols})
    special, general = (variant_key(resolved, specialised=specialised) for specialised in (True, False))
    assert (special == general) == (cols % 16 != 0)
    code = DeviceCode(plan, (b"",), variants={general: Variant(0, "general"), special: Variant(0, "special", 128)})
    step = code.launches(SIGNATURE, {"rows": rows, "cols": cols}, 1)["steps"][0]
    assert (step["function"], step["grid"]) == ("special", (rows, 1, 1))
    alone = DeviceCode(plan, (b"",), variants={general: Variant(0, "general")})
    assert alone.launches(SIGNATURE, {"rows": rows, "cols": cols}, 1)["steps"][0]["function"] == "general"


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for source, language in ((text, Language.CUDA), (f"/*\nkernelguild:{text}\n*/", Language.CUDA),
                             (text, Language.TRITON), (f'"""kernelguild:{text}"""', Language.TRITON)):  # fmt: skip
        try:
            plan = read_plan(source, language)
        except ConfigError as error:
            assert "candidate." in str(error)  # noqa: PT017  only most texts are refused
        else:
            assert plan.steps
