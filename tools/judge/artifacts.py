"""The files that are kept with a verdict."""

from __future__ import annotations

import hashlib

from ...memory.schema import Artifact
from .build.built import Built
from .deep.examination import Examined

MAX_ARTIFACT_BYTES = 4 << 20
"""A larger library is padding; it is not worth its place in the store."""


def artifacts_of(built: Built | None, deep: Examined | None) -> tuple[tuple[Artifact, ...], list[bytes]]:
    """What compiling and looking deeper left: records and contents, in the same order."""
    files: list[tuple[str, str, bytes]] = []
    if built is not None and built.log:
        files.append(("compile.log", "text/plain", built.log))
    if built is not None and built.target is not None and built.target.suffix == ".so":
        files.append(("candidate.so", "application/octet-stream", built.target.read_bytes()))
    if built is not None and built.device_code is not None:
        for number, module in enumerate(built.device_code.modules):
            files.append((f"module{number}.cubin", "application/octet-stream", module))
        for number, text in enumerate(built.ptx):
            files.append((f"module{number}.ptx", "text/plain", text))
    files = [file for file in files if len(file[2]) <= MAX_ARTIFACT_BYTES]
    if deep is not None and deep.raw:
        files.append(("ncu.csv", "text/csv", deep.raw))
    artifacts = tuple(
        Artifact(name=name, digest=hashlib.sha256(data).hexdigest(), size_bytes=len(data), media_type=media)
        for name, media, data in files
    )
    return artifacts, [data for _, _, data in files]
