"""Which folder is the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelguild.memory.errors import ConfigError
from kernelguild.memory.home import find_home


def test_the_order_is_option_then_variable_then_nearest_folder_then_user(tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    environ = {"HOME": str(user), "KERNELGUILD_HOME": str(tmp_path / "named")}

    assert find_home(Path("/chosen"), environ=environ, cwd=deep) == Path("/chosen")
    assert find_home(None, environ=environ, cwd=deep) == tmp_path / "named"
    assert find_home(None, environ={"HOME": str(user)}, cwd=deep) == user / ".kernelguild"
    (project / ".kernelguild").mkdir()
    assert find_home(None, environ={"HOME": str(user)}, cwd=deep) == project / ".kernelguild"
    (deep / ".kernelguild").mkdir()
    assert find_home(None, environ={"HOME": str(user)}, cwd=deep) == deep / ".kernelguild"


def test_finding_a_home_creates_nothing(tmp_path: Path) -> None:
    find_home(None, environ={"HOME": str(tmp_path / "user")}, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_relative_homes_are_taken_from_the_working_folder_and_a_tilde_from_home(tmp_path: Path) -> None:
    environ = {"HOME": "/users/me"}
    assert find_home(Path("state"), environ=environ, cwd=tmp_path) == tmp_path / "state"
    named = {**environ, "KERNELGUILD_HOME": "~/state"}
    assert find_home(None, environ=named, cwd=tmp_path) == Path("/users/me/state")


def test_an_empty_variable_counts_as_unset_and_a_missing_home_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--home or set KERNELGUILD_HOME"):
        find_home(None, environ={"KERNELGUILD_HOME": ""}, cwd=tmp_path)
