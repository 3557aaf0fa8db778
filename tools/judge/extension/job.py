"""What the judge asks a building worker for."""

from __future__ import annotations

from typing import Literal

from ....memory.schema import Record
from .call import InlineCall

JOB_NAME = "job.json"
HEADERS_NAME = "extension.h.gch"
COMMAND_MARK = "$ "
"""Starts the lines of the worker's output that are commands."""


class BuildJob(Record):
    """One library, or the precompiled headers for libraries with the same flags."""

    call: InlineCall
    product: Literal["library", "headers"] = "library"
    header_folder: str = ""
    """Where precompiled headers lie; empty where there are none for these flags."""
    architectures: str = ""
    """torch's TORCH_CUDA_ARCH_LIST: the building worker sees no GPU."""
