"""Builds an extension: runs torch's own generator and the compilers, then ends. No candidate's Python runs here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from ..extension.compiler import build, precompile
from ..extension.job import BuildJob
from ..worker_spec import WorkerSpec


def load(spec: WorkerSpec, shared: int) -> NoReturn:
    """Build what the job beside it asks for, in its folder."""
    del shared
    job = BuildJob.model_validate_json(Path(spec.target).read_bytes())
    make = build if job.product == "library" else precompile
    code = make(job, Path(spec.confinement.scratch))
    sys.stdout.flush()
    os._exit(code)
