"""The one YAML loader: file, line, key, and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.memory.errors import ConfigError, NotFoundError
from kernelguild.memory.schema import PuctSettings, Record
from kernelguild.memory.yaml_file import load_yaml, load_yaml_text


class Inner(Record):
    """An item."""

    width: int


class Outer(Record):
    """A file."""

    name: str
    items: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("c: 1\nk: 8\nm: 0.7\nrho: 4\nepsilonn: 1\n", "f.yaml:5: epsilonn: unknown key; did you mean 'epsilon'?"),
        ("c: 1\nk: x\n", "f.yaml:2: k: Input should be a valid number"),
        ("c: 1\n", "f.yaml:1: k: missing key (allowed here: c, k, m, rho, epsilon)"),
        ("- a\n", "a mapping is needed (allowed keys: c, k, m, rho, epsilon)"),
        ("c: [\n", "f.yaml:2: not valid YAML"),
        ("c: 1\nc: 2\n", "not valid YAML"),
        ("c: &a 1\nk: *a\n", "aliases (*name) are not allowed"),
        ("\x00", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_explained_by_file_line_and_key(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_yaml_text(text, "f.yaml", PuctSettings)
    assert words in str(caught.value)


def test_an_error_inside_a_list_has_its_own_line() -> None:
    text = "name: n\nitems:\n  - width: 1\n  - widht: 2\n"
    with pytest.raises(ConfigError) as caught:
        load_yaml_text(text, "f.yaml", Outer)
    assert "f.yaml:4: items.1.widht: unknown key; did you mean 'width'? (allowed: width)" in str(caught.value)


def test_files_that_are_missing_binary_or_huge_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    with pytest.raises(NotFoundError, match="no such file"):
        load_yaml(path, Outer)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_yaml(path, Outer)
    path.write_bytes(b"#" * (2 << 20))
    with pytest.raises(ConfigError, match="a YAML file may have"):
        load_yaml(path, Outer)


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_config_error(text: str) -> None:
    try:
        load_yaml_text(text, "f.yaml", Outer)
    except ConfigError:
        return


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "outer.yaml"
    for name in ("first", "second", "first"):
        path.write_text(f"name: {name}\n", encoding="utf-8")
        assert load_yaml(path, Outer).name == name
    path.write_text("nam: third\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ConfigError, match="did you mean 'name'"):
            load_yaml(path, Outer)
