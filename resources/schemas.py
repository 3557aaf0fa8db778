"""The JSON schemas of what the tools answer and of what people write."""

from __future__ import annotations

import json

from pydantic import BaseModel

from ..memory.errors import NotFoundError
from ..memory.schema import Candidate, Device, Evaluation, SearchView, Task
from ..tools.task_file import TaskFile
from .result import EvaluationResult

SCHEMAS: dict[str, type[BaseModel]] = {
    "result": EvaluationResult,
    "evaluation": Evaluation,
    "task": Task,
    "task_file": TaskFile,
    "candidate": Candidate,
    "device": Device,
    "search_view": SearchView,
}
"""Name -> record, as in `schema://{name}`."""


def schema_json(name: str) -> str:
    """The JSON schema of a record.

    Raises:
        NotFoundError: no schema has this name.
    """
    if name not in SCHEMAS:
        raise NotFoundError(f"no schema is named {name!r} (known: {', '.join(SCHEMAS)})")
    return json.dumps(SCHEMAS[name].model_json_schema(), indent=1)
