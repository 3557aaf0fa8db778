"""In the building worker: torch's own `load_inline` writes the sources and chooses the flags; the commands run here.

No candidate's Python runs in this process, but its text does go to the compiler, so it is confined all the same. ninja
is not needed: a library has two or three commands, and starting them directly saves its start.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from .job import COMMAND_MARK, HEADERS_NAME, BuildJob

EXIT_COMPILER = 1
GCC_HEAP = ("--param=ggc-min-expand=10000", "--param=ggc-min-heapsize=8000000")
"""No garbage collection while torch's headers are read: the same object, a tenth sooner, for 0.4 GB more memory."""
NAME_DEFINE = "-DTORCH_EXTENSION_NAME="


@dataclass
class Commands:
    """What torch's build file says, as command lines to run in the build folder."""

    host: list[str] = field(default_factory=list)
    """The C++ compiler and its flags for `main.cpp`."""
    device: list[str] = field(default_factory=list)
    """nvcc and its flags for `cuda.cu`; empty where there is none."""
    objects: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)


def build(job: BuildJob, folder: Path) -> int:
    """Compile all sources at once, link `NAME.so`; commands and what compilers say go to standard output.

    Returns:
        0, or 1 where a compiler failed.
    """
    commands = plan(job, folder)
    first = [f"-I{job.header_folder}"] if job.header_folder else []
    host = [commands.host[0], *first, *_heap(commands.host[0]), *commands.host[1:]]
    compiles = [[*host, "-c", "main.cpp", "-o", "main.o"]]
    if commands.device:
        compiles.append([*commands.device, "-c", "cuda.cu", "-o", commands.objects[1]])
    running = [_start(command) for command in compiles]
    codes = [_finish(process) for process in running]
    return EXIT_COMPILER if any(codes) else _finish(_start(commands.link))


def precompile(job: BuildJob, folder: Path) -> int:
    """Torch's headers for the job's flags, as g++ keeps them; the object that is made from them is the same."""
    commands = plan(job, folder)
    from torch.utils.cpp_extension import include_paths

    header = next(path for path in include_paths() if (Path(path) / "torch" / "extension.h").is_file())
    flags = [flag for flag in commands.host[1:] if not flag.startswith(NAME_DEFINE)]
    source = str(Path(header) / "torch" / "extension.h")
    return _finish(_start([commands.host[0], *flags, "-x", "c++-header", source, "-o", HEADERS_NAME]))


def plan(job: BuildJob, folder: Path) -> Commands:
    """Let torch write the sources into `folder`, which becomes the working folder, and say what it would run there."""
    os.chdir(folder)
    os.environ.update(TORCH_CUDA_ARCH_LIST=job.architectures, LC_ALL="C")
    cpp_extension: Any = import_module("torch.utils.cpp_extension")  # loaded by this kind of worker alone

    commands = Commands()

    def take(**file: Any) -> None:
        compiler = cpp_extension.get_cxx_compiler()
        commands.host = [compiler, *_split(file["cflags"])]
        if len(file["sources"]) > 1:
            commands.device = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", *_split(file["cuda_cflags"])]
        commands.objects = list(file["objects"])
        commands.link = [compiler, *commands.objects, *_split(file["ldflags"]), "-o", file["library_target"]]

    # Its last steps are replaced: this process only writes sources and learns the flags.
    for name, function in {
        "_write_ninja_file": take,
        "verify_ninja_availability": _nothing,
        "get_compiler_abi_compatibility_and_version": _nothing,
        "_run_ninja_build": _nothing,
        "_import_module_from_library": _nothing,
    }.items():
        setattr(cpp_extension, name, function)
    arguments = {name: _plain(value) for name, value in job.call.model_dump().items()}
    cpp_extension.load_inline(**arguments, build_directory=str(folder))
    return commands


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _nothing(*args: Any, **kwargs: Any) -> None:
    del args, kwargs


def _heap(compiler: str) -> tuple[str, ...]:
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return GCC_HEAP if "Free Software Foundation" in version else ()


def _split(flags: Sequence[str]) -> list[str]:
    """The words that a shell would make of them, as torch's own build goes through one."""
    return shlex.split(" ".join(flags))


def _start(command: list[str]) -> subprocess.Popen[str]:
    print(COMMAND_MARK + shlex.join(command), flush=True)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def _finish(process: subprocess.Popen[str]) -> int:
    print(process.communicate()[0], end="", flush=True)
    return EXIT_COMPILER if process.returncode else 0
