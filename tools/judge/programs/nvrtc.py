"""Inside a confined worker: NVRTC over one source. The log goes to the output, cubin and names to a file."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from cuda.bindings import nvrtc

from ..worker_spec import EXIT_SETUP, WorkerSpec
from .serving import give_up

PRELUDE_NAME = b"kernelguild_prelude.h"
PRELUDE = b"""\
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
struct alignas(64) CUtensorMap { uint64_t opaque[16]; };
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
"""
"""NVRTC has neither <stdint.h> nor <math.h>'s constants, and <cuda.h> does not compile in it."""


def ask(result: tuple[Any, ...]) -> Any:
    """The value of an NVRTC call that cannot fail by the candidate's doing."""
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        give_up(EXIT_SETUP, f"error: NVRTC: {status.name}")
    return values[0] if values else None


def load(spec: WorkerSpec, shared: int) -> NoReturn:
    """Compile and end; the options follow the kernels' names behind `--`."""
    del shared
    source = Path(spec.target)
    split = spec.arguments.index("--")
    kernels, options = spec.arguments[:split], spec.arguments[split + 1 :]
    program = ask(nvrtc.nvrtcCreateProgram(source.read_bytes(), source.name.encode(), 1, [PRELUDE], [PRELUDE_NAME]))
    for kernel in kernels:
        ask(nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    sys.stdout.buffer.write(_log(program))
    sys.stdout.flush()
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        give_up(EXIT_SETUP, f"error: {status.name}")
    names = {kernel: ask(nvrtc.nvrtcGetLoweredName(program, kernel.encode())).decode() for kernel in kernels}
    size = ask(nvrtc.nvrtcGetCUBINSize(program))
    cubin = bytearray(size)
    ask(nvrtc.nvrtcGetCUBIN(program, cubin))
    product = {"cubin": base64.b64encode(bytes(cubin)).decode(), "names": names}
    (source.parent / "product.json").write_text(json.dumps(product), encoding="ascii")
    os._exit(0)


def _log(program: Any) -> bytes:
    size = ask(nvrtc.nvrtcGetProgramLogSize(program))
    buffer = bytearray(size)
    ask(nvrtc.nvrtcGetProgramLog(program, buffer))
    return bytes(buffer).rstrip(b"\0")
