"""The packaged YAML files: they load, and a slip in one is named by its line."""

from __future__ import annotations

import pytest

from kernelguild.agents_cfg.settings import (
    FOLDER,
    RandomSettings,
    SearchSettings,
    TunerSettings,
    load_random_settings,
    load_search_settings,
    load_tuner_settings,
)
from kernelguild.memory.errors import ConfigError
from kernelguild.memory.schema import PuctSettings, Record
from kernelguild.memory.yaml_file import load_yaml_text

MODELS: dict[str, type[Record]] = {
    "search.yaml": SearchSettings,
    "tuner.yaml": TunerSettings,
    "random.yaml": RandomSettings,
}


def test_every_packaged_file_loads() -> None:
    assert load_search_settings().puct == PuctSettings(c=1, k=8, m=0.7, rho=4, epsilon=1e-3)
    assert load_tuner_settings().proposals >= 1
    assert load_random_settings().draws >= 1
    assert {path.name for path in FOLDER.glob("*.yaml")} == set(MODELS)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        ("search.yaml", "epsilon:", "epsilom:", "puct.epsilom: unknown key; did you mean 'epsilon'?"),
        ("search.yaml", "m: 0.7", "m: 1.7", "puct.m: Input should be less than 1, got 1.7"),
        ("search.yaml", "lease_timeout_s: ", "lease_timeout_s: -", "lease_timeout_s: Input should be greater than 0"),
        ("tuner.yaml", "improvement:", "improvment:", "improvment: unknown key; did you mean 'improvement'?"),
        ("random.yaml", "draws:", "improvement:", "improvement: unknown key"),
        ("random.yaml", "proposals: ", "proposals: many # ", "proposals: Input should be a valid integer"),
    ],
)
def test_a_slip_is_named_by_file_line_and_key(file: str, right: str, wrong: str, said: str) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    assert text.count(right) == 1
    line = text[: text.index(right)].count("\n") + 1
    with pytest.raises(ConfigError) as caught:
        load_yaml_text(text.replace(right, wrong), file, MODELS[file])
    assert f"{file}:{line}: {said}" in str(caught.value)
