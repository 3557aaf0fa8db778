"""The settings of searches and agents, read from the YAML files beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ..memory.schema import PuctSettings, Record
from ..memory.yaml_file import load_yaml

FOLDER = Path(__file__).parent


class SearchSettings(Record):
    """`search.yaml`."""

    schema_version: Literal[1]
    puct: PuctSettings
    lease_timeout_s: float = Field(gt=0)
    """How long an agent may keep its lease."""
    max_agent_failures: int = Field(ge=1)
    """Leases in a row that may end without a submission before the search ends."""
    max_judge_failures: int = Field(ge=1)
    """Rounds in a row that the judge may break off before the search ends."""
    max_empty_submissions: int = Field(ge=1)
    """Submissions in a row without a new program that close a node to agents."""
    max_confirmations: int = Field(ge=1)
    """How many of the best candidates are measured again until one passes."""


class RandomSettings(Record):
    """`random.yaml`."""

    schema_version: Literal[1]
    proposals: int = Field(ge=1)
    """Proposals of one lease."""
    draws: int = Field(ge=1)
    """Draws of one lease before it gives up: all the others were known programs."""


class TunerSettings(RandomSettings):
    """`tuner.yaml`."""

    improvement: float = Field(ge=1)
    """Speedup over the parent from which on a change counts as a success."""
    adjust_weight: float = Field(gt=0)
    """Weight of another value of a strategy in use, times its prior; a strategy's first use weighs its prior."""
    repeat_weight: float = Field(gt=0)
    """Weight of repeating on this program what helped another, times its gain there."""


def load_search_settings() -> SearchSettings:
    """The packaged `search.yaml`."""
    return load_yaml(FOLDER / "search.yaml", SearchSettings)


def load_tuner_settings() -> TunerSettings:
    """The packaged `tuner.yaml`."""
    return load_yaml(FOLDER / "tuner.yaml", TunerSettings)


def load_random_settings() -> RandomSettings:
    """The packaged `random.yaml`."""
    return load_yaml(FOLDER / "random.yaml", RandomSettings)
