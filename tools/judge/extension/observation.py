"""What a ghost run saw of itself; hostile until validated, and no more than an indication then."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ....memory.schema import Record

OBSERVATION_NAME = "observation.json"
MAX_NAMES = 64
MAX_BYTES = 1 << 20

Names = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=MAX_NAMES)]


class Observation(Record):
    """What ran in the candidate's process, by its own word."""

    operators: Names = ()
    """torch operators, such as `aten.silu`."""
    kernels: Names = ()
    """Functions of extensions, and Triton kernels, that were called and spoiled."""
    opaque: bool = False
    """Whether some of the extension's code could not be spoiled, so that right outputs prove nothing."""
    output_buffer_reused: bool = False
    """Whether a call delivered memory that an earlier call had delivered."""
    libraries: Names = ()
    """Files with code that the candidate brought into the process."""


def read_observation(path: Path) -> Observation | None:
    """What the worker left; None where that is missing or not ours."""
    if not path.exists() or not 0 < path.stat().st_size <= MAX_BYTES:
        return None
    try:
        return Observation.model_validate_json(path.read_bytes())
    except ValidationError:
        return None
