"""What a measurement was made on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import StoredRecord

DeviceKind = Literal["cpu", "cuda"]


class Device(StoredRecord):
    """One processor or accelerator of one machine."""

    model: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    """A slug such as `amd-epyc-2c`: results and knowledge are keyed by it."""
    instance: str
    """Which one: results of two instances of a model are comparable, their leases are not shared."""
    kind: DeviceKind
    name: str
    """The name that the hardware reports."""
    cores: int = Field(ge=1)
    """CPU: cores that this process may use. GPU: streaming multiprocessors."""
    memory_bytes: int = Field(ge=0)
    toolchain: str
    """Compiler and framework versions: a change of any of them makes old verdicts stale."""
