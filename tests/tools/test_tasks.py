"""Task files and KernelBench problems: what is wrong is named, what is right is self-contained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from affine_task import TASK, write_task
from kernelguild.memory.errors import ConfigError, InputError, NotFoundError
from kernelguild.memory.schema import Language
from kernelguild.tools.candidates import load_candidate
from kernelguild.tools.task_file import TaskFile
from kernelguild.tools.tasks import load_task

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("entry: affine", "entri: affine", "task.yaml:5: entri: unknown key; did you mean 'entry'?"),
        ("outputs: [{name: y, dtype: float32, shape: [n]}]", "", "task.yaml:1: outputs: missing key"),
        ("shape: [n]}]\noutputs", "shape: [n * m]}]\noutputs", "unknown symbol 'm' (known: n)"),
        ("shapes: [{n: 4096}]", "shapes: [{m: 4096}]", "unknown symbol 'm' (symbols with a domain: n)"),
        ("shapes: [{n: 4096}]", "shapes: [{n: 0}]", "n = 0 is outside its domain 1..100000"),
        ("shapes: [{n: 4096}]", "shapes: []", "task.yaml:9: shapes"),
        ("max: 100000}}", "max: 100000}, a: b + 1, b: a}", "symbols define each other in a cycle"),
        ("max: 100000}}", "max: 100000}, big: n * 1000000000}", "tensor may have", ),
        ("file: reference.py", "file: ../reference.py", "lies outside the task's folder"),
        ("file: reference.py", "file: nothing.py", "no such file"),
        ("function: affine", "function: other", "reference.py defines no 'other'"),
        ("dtype: float32, shape: [n]}]\nshapes", "dtype: float31, shape: [n]}]\nshapes", "float31"),
        ("name: y", "name: x", "the name 'x' is used twice"),
        ("constraints: {", "constraints: {compiler_flags: [-fplugin=x], ", "'-fplugin=x' is not allowed (allowed: -O2"),
        ("language: cpp", "language: fortran", "fortran"),
    ],
)  # fmt: skip
def test_a_wrong_task_file_names_file_line_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    text = TASK.replace(old, new)
    assert text != TASK
    if "big" in new:
        text = text.replace("shape: [n]}]\nshapes", "shape: [big]}]\nshapes")
    path = write_task(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_task(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_an_error_names_the_line_of_its_own_key_also_in_a_flow_mapping(tmp_path: Path) -> None:
    path = write_task(tmp_path, TASK.replace("file: reference.py", "file: nothing.py"))
    with pytest.raises(ConfigError, match=r"task.yaml:3: reference.file: .*nothing.py: no such file"):
        load_task(path)


def test_a_wrong_item_is_one_error_and_a_python_file_is_told_its_prefix(tmp_path: Path) -> None:
    path = write_task(
        tmp_path, TASK.replace("dtype: float32, shape: [n]}]\nshapes", "dtype: flaot32, shape: [n]}]\nshapes")
    )
    with pytest.raises(ConfigError) as caught:
        load_task(path)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ConfigError, match=r"a Python file is a task as kernelbench:problem.py"):
        load_task("problem.py")


def test_a_task_is_found_by_its_folder_and_its_id_ignores_wording(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path))
    assert load_task(tmp_path) == task
    renamed = load_task(write_task(tmp_path, TASK.replace("name: affine", "name: other\ndescription: words")))
    assert renamed.id == task.id
    other = load_task(write_task(tmp_path, TASK.replace("n: 4096", "n: 4095")))
    assert other.id != task.id


def test_a_kernelbench_file_needs_its_three_names(tmp_path: Path) -> None:
    path = tmp_path / "1_Square.py"
    path.write_text("class Model: pass\ndef get_inputs(): return []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="defines no 'get_init_inputs'"):
        load_task(f"kernelbench:{path}")
    with pytest.raises(NotFoundError):
        load_task(f"kernelbench:{tmp_path / 'none.py'}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the source is empty"),
        (b"\x7fELF\x00\xff", "not UTF-8"),
        (b"int a;\x00", "NUL character at 6"),
        (b"a" * 10_000_000, "a source may have"),
    ],
)
def test_hostile_candidate_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "candidate.cpp"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load_candidate(path, None)


def test_the_language_comes_from_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "candidate.cc"
    path.write_text("int a;", encoding="utf-8")
    assert load_candidate(path, None).language is Language.CPP
    with pytest.raises(InputError, match=r"no language has the suffix '.f90'"):
        load_candidate(path.with_suffix(".f90"), None)


def test_the_published_schema_is_the_one_that_the_loader_uses() -> None:
    published = json.loads((ROOT / "tools" / "task.schema.json").read_text(encoding="utf-8"))
    assert published == TaskFile.model_json_schema()
