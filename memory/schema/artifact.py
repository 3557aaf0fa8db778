"""A file that is kept with a record."""

from __future__ import annotations

from pydantic import Field

from .base import Digest, Record


class Artifact(Record):
    """A file kept with the evaluation, readable as `artifact://{digest}`."""

    name: str
    digest: Digest
    size_bytes: int = Field(ge=0)
    media_type: str
