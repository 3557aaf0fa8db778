"""What the judge tells a zygote about the worker that it wants, and the few words between judge and worker."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Literal

from .access import Access, Limits
from .sandbox import Confinement

Kind = Literal["cpp", "pytorch", "interpreter", "launcher", "empty", "exec", "nvrtc", "triton", "extension"]
"""Programs that are called; then what runs to its end: a command, and the two compilers of device code."""
COMPILERS: frozenset[Kind] = frozenset(("exec", "nvrtc", "triton"))
Preload = Literal["native", "torch", "cuda", "triton", "interpreter"]
"""What a zygote has imported: nothing, torch, the CUDA driver's and NVRTC's bindings, Triton, Triton's interpreter."""

CONFIGURE, GO, DELIVERED, READY, END = b"s", b"g", b"d", b"r", b"e"
TIMES = struct.Struct("=dd")
"""elapsed_s and overhead_s behind `DELIVERED`, from workers that run no host code of a candidate."""
CONFINED = b"c"
"""Sent before any code of the candidate runs: what fails earlier is the judge's fault, what fails later is not."""

# What a worker that gives up says by its exit code. Only failures are told this way, so a lie gains nothing.
EXIT_SETUP = 71
EXIT_ENTRY_STATUS = 72
EXIT_CALL = 73
EXIT_SHAPE = 74
EXIT_DTYPE = 75
EXIT_PARAMETERS = 76
EXIT_MEMORY = 77
EXIT_LAUNCH = 78


@dataclass(frozen=True)
class WorkerSpec:
    """One worker: what it runs and how it is confined."""

    kind: Kind
    confinement: Confinement
    target: str = ""
    """The library, the candidate's file or the source to compile."""
    entry: str = ""
    """cpp: the C symbol; pytorch: the class."""
    loop: str = ""
    """cpp, empty: the library that answers the judge; without one Python does."""
    arguments: tuple[str, ...] = ()
    """exec: the command line, its first word an absolute path; compilers of device code: their options."""
    product: str = ""
    """The file in its folder that the judge wants when it has ended well."""
    threads: int = 1
    cpu: int | None = None
    """The core it is pinned to."""
    shared_bytes: int = 0
    """Size of the shared memory."""
    gpu: bool = False
    """Whether it may use the GPU; the shared memory is the GPU's then."""
    timed: bool = False
    """Whether it times its calls itself, by the device's events; only where nobody's host code could lie."""
    allow_tf32: bool = False
    ghost: bool = False
    """pytorch: spoil what its kernels give and write down what else ran."""
    construction_seed: int = 0
    """pytorch: seeds torch before the model is constructed, as the reference was."""
    init_inputs: str = "[]"
    """pytorch: the constructor's arguments as JSON."""

    def dumps(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def loads(cls, data: bytes) -> WorkerSpec:
        fields = json.loads(data)
        confinement = fields["confinement"]
        access = confinement["access"]
        confinement["access"] = Access(tuple(access["read_execute"]), tuple(access["devices"]), access["gpu"])
        confinement["limits"] = Limits(**confinement["limits"])
        confinement["layers"] = tuple(confinement["layers"])
        fields["confinement"] = Confinement(**confinement)
        fields["arguments"] = tuple(fields["arguments"])
        return cls(**fields)


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker ended, as its process 1 saw it."""

    exit_code: int | None
    signal: int | None
    max_rss_bytes: int
    judge_failure: str = ""
    """What went wrong on the judge's side of the worker."""

    def dumps(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def loads(cls, data: bytes) -> WorkerEnd:
        return cls(**json.loads(data))
