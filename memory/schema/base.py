"""What every stored record shares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

# 128 bits: an attacker who could make two sources share an id would give one the other's verdict.
CONTENT_ID_HEX_DIGITS = 32

ContentId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Symbols = Mapping[str, int]


class Record(BaseModel):
    """A frozen record that refuses unknown keys; attribute docstrings become its JSON schema."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        ser_json_inf_nan="strings",
        validate_default=True,
    )


class StoredRecord(Record):
    """A record that is written to disk: it carries the version of its format."""

    schema_version: Literal[1] = 1


def content_id(*parts: str) -> str:
    """The id of content: 32 hex digits of the SHA-256 over the parts, each prefixed by its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode("ascii"))
        digest.update(data)
    return digest.hexdigest()[:CONTENT_ID_HEX_DIGITS]


def canonical_json(record: BaseModel) -> str:
    """The record as JSON with sorted keys, so that equal records have equal text."""
    return json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
