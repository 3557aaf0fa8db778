"""The judge's process: requests come in on standard input, progress and verdicts go out on standard output."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import BinaryIO

from ...memory.clock import SystemClock
from ...memory.errors import InputError, KernelguildError, UnavailableError
from ...memory.schema import Record
from . import framing
from .environment import may_run_unconfined
from .namespaces import die_with_parent
from .probe import probe, why_refused
from .request import EvaluationRequest, Refused

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Serve until standard input closes."""
    die_with_parent()
    reader = os.fdopen(os.dup(0), "rb")
    writer = os.fdopen(os.dup(1), "wb")
    # The task's reference may print; it must not print into the protocol.
    os.dup2(2, 1)
    # Whatever goes wrong from here on is the answer to this first request.
    first = framing.read(reader)
    if first is None:
        return
    try:
        _serve(first, reader, writer)
    except KernelguildError as error:
        _send(writer, _refusal(error))
    except OSError as error:
        cure = "; free space there, or set TMPDIR to another folder" if error.errno in NO_SPACE else ""
        _send(writer, Refused(reason="harness", message=f"the judge could not go on: {error}{cure}"))


def _serve(data: bytes | None, reader: BinaryIO, writer: BinaryIO) -> None:
    isolation = probe()
    if not isolation.confined and not may_run_unconfined(os.environ):
        raise UnavailableError(why_refused(isolation))
    try:
        # torch takes a second to import: after the probe, so that a host that cannot confine hears it at once.
        from .bench import Bench
        from .judge import Judge
    except ModuleNotFoundError as missing:
        raise UnavailableError(
            f"the judge needs {missing.name}, which is not installed: pip install 'kernelguild[torch]'"
        ) from None

    with Bench(isolation) as bench:
        judge = Judge(bench, SystemClock(), Path.home() / ".cache" / "kernelguild")
        while data is not None:
            request = EvaluationRequest.model_validate_json(data)
            try:
                _send(writer, judge.evaluate(request, lambda progress: _send(writer, progress)))
            except InputError as error:
                _send(writer, _refusal(error))
            data = framing.read(reader)


def _refusal(error: KernelguildError) -> Refused:
    if isinstance(error, InputError):
        return Refused(reason="input", message=str(error))
    return Refused(reason="unavailable" if isinstance(error, UnavailableError) else "harness", message=str(error))


def _send(writer: BinaryIO, record: Record) -> None:
    framing.write(writer, record.model_dump_json().encode())


if __name__ == "__main__":
    main()
    sys.exit(0)
