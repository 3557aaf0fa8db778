"""Where programs run: scratch folders, zygotes, and workers with exactly the access that each needs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from ...memory.schema import Constraints, DeviceKind, Language
from .arena import Arena
from .device_code import DeviceCode
from .environment import child_environment
from .failure import blamed
from .host_memory import HostMemory
from .languages import RUNNERS, Runner
from .launchers import LAUNCHER_TIMEOUT_S, Launchers
from .place import Place
from .sandbox import Access, Limits
from .seat import Seat
from .worker import Worker, Zygote
from .worker_spec import Kind, Preload, WorkerSpec

SYSTEM_PATHS = (
    "/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
WRITABLE_DEVICES = ("/dev/null",)
FOLDER_PREFIX = f"kernelguild-judge-{os.getuid()}-"
FOREIGN_UID = 65534
SETTLING_S = 60
"""A younger folder may not be locked by its owner yet."""
OUTPUT_LIMIT_BYTES = 64 << 20
PROCESS_LIMIT = 64
OWN_PROCESSES = 3
"""Of each worker's user namespace: warden, process 1 and the worker itself."""
COMPILER_MEMORY_BYTES = 4 << 30
EMPTY_MEMORY_BYTES = 1 << 30
EMPTY_TIMEOUT_S = 60


@dataclass(frozen=True)
class Program:
    """A candidate, a seed or a reference that is ready to run."""

    language: Language
    target: Path
    """The library, the Python file or the device code; readable and not writable for the worker."""
    entry: str
    scratch: Path
    """The workers' own folder."""
    constraints: Constraints
    init_inputs: tuple[Any, ...] = ()
    construction_seed: int = 0
    device_code: DeviceCode | None = None
    """cuda, triton: what the judge's launcher runs."""


class Bench:
    """All that a judge process keeps between evaluations: zygotes and a folder of its own."""

    def __init__(self) -> None:
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        self.folder.chmod(0o711)
        self._scratches: list[Path] = []
        self._uid = FOREIGN_UID if os.getuid() == 0 else None
        self._interpreter_is_public = all(_is_public(Path(path)) for path in _interpreter_folders())
        self._claim = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._claim, fcntl.LOCK_EX)
        environment = {**child_environment(os.environ), "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
        self._zygotes: dict[Preload, Zygote] = {name: Zygote(name, environment) for name in get_args(Preload)}
        self._launchers = Launchers(self._launcher)

    def seat(
        self, program: Program, place: Place, size_bytes: int, *, cpu: int | None = None, timed: bool = False
    ) -> Seat:
        """A worker with the program loaded, and memory of `size_bytes` that it shares with the judge.

        Args:
            cpu: the core to pin it to.
            timed: whether it times its own calls; never for a candidate that has host code.

        Raises:
            CandidateFailure: it could not be loaded.
        """
        runner = RUNNERS[program.language, place.kind]
        with contextlib.ExitStack() as stack:
            arena = place.arena(size_bytes)
            stack.callback(arena.close)
            if runner.kind == "launcher":
                worker = stack.enter_context(self._launchers.take())
                worker.give(arena.descriptor)
            else:
                spec = self._spec(program, runner, place, arena, cpu=cpu, timed=timed)
                worker = stack.enter_context(self._zygotes[runner.preload].spawn(spec, arena.descriptor))
                timeout_s = program.constraints.setup_timeout_s
                with blamed(worker, "loading the candidate", timeout_s):
                    worker.wait_ready(timeout_s)
            stack.pop_all()
        return Seat(worker, arena, place, program.device_code)

    def _spec(
        self, program: Program, runner: Runner, place: Place, arena: Arena, *, cpu: int | None, timed: bool
    ) -> WorkerSpec:
        constraints = program.constraints
        on_gpu = place.kind == "cuda"
        memory_bytes = None if on_gpu else constraints.memory_bytes
        processes = _processes(runner.preload, constraints.threads)
        return WorkerSpec(
            kind=runner.kind,
            scratch=str(program.scratch),
            uid=self._uid_of(runner.preload),
            access=self._access(program.scratch, program.target.parent, gpu=on_gpu),
            limits=_limits(memory_bytes, constraints.setup_timeout_s, processes),
            target=str(program.target),
            entry=program.entry,
            threads=constraints.threads,
            cpu=cpu,
            shared_bytes=arena.size_bytes,
            gpu=on_gpu,
            timed=timed,
            allow_tf32=constraints.allow_tf32,
            construction_seed=program.construction_seed,
            init_inputs=json.dumps(program.init_inputs),
        )

    def empty_seat(self, place: Place, size_bytes: int, *, cpu: int | None) -> Seat:
        """A worker that runs nobody's code: what a call costs by itself."""
        arena = place.arena(size_bytes)
        limits = _limits(EMPTY_MEMORY_BYTES, EMPTY_TIMEOUT_S, PROCESS_LIMIT)
        worker = self._spawn_native("empty", self.new_scratch(), arena, limits, cpu=cpu)
        worker.wait_ready(EMPTY_TIMEOUT_S)
        return Seat(worker, arena, place)

    def execute(self, arguments: tuple[str, ...], scratch: Path, timeout_s: float) -> Worker:
        """A confined command, such as a compiler; the caller waits for its end."""
        with Arena(HostMemory(4096)) as arena:
            return self._spawn_native("exec", scratch, arena, _compiler_limits(timeout_s), arguments=arguments)

    def compile(self, kind: Kind, preload: Preload, source: Path, options: tuple[str, ...], timeout_s: float) -> Worker:
        """A confined compiler of device code over a source in its scratch folder; the caller waits for its end."""
        with Arena(HostMemory(4096)) as arena:
            spec = WorkerSpec(
                kind=kind,
                scratch=str(source.parent),
                uid=self._uid_of(preload),
                access=self._access(source.parent),
                limits=_compiler_limits(timeout_s),
                target=str(source),
                arguments=options,
                shared_bytes=arena.size_bytes,
            )
            return self._zygotes[preload].spawn(spec, arena.descriptor)

    def new_folder(self) -> Path:
        """A fresh folder below the judge's own, which workers may read."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o755)
        return folder

    def new_scratch(self, preload: Preload = "native") -> Path:
        """A fresh folder that belongs to the workers of one zygote."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        uid = self._uid_of(preload)
        if uid is not None:
            os.chown(folder, uid, uid)
        self._scratches.append(folder)
        return folder

    def clear_scratches(self) -> None:
        """Remove what the workers of one evaluation left behind; none of them may still run."""
        while self._scratches:
            remove_tree(self._scratches.pop())

    def missing_layers(self, language: Language, place: DeviceKind) -> tuple[str, ...]:
        """What workers of this language lack of the full confinement here, each with the reason."""
        runner = RUNNERS.get((language, place))
        if runner is None or self._uid is None or self._uid_of(runner.preload) is not None:
            return ()
        return ("process limit: it does not bind root, and the interpreter is not readable by another user",)

    def _uid_of(self, preload: Preload) -> int | None:
        """Workers that import as they go need an interpreter that the other user can read."""
        return self._uid if preload == "native" or self._interpreter_is_public else None

    def close(self) -> None:
        self._launchers.close()
        for zygote in self._zygotes.values():
            zygote.close()
        remove_tree(self.folder)
        os.close(self._claim)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _spawn_native(
        self,
        kind: Kind,
        scratch: Path,
        arena: Arena,
        limits: Limits,
        *,
        arguments: tuple[str, ...] = (),
        cpu: int | None = None,
    ) -> Worker:
        spec = WorkerSpec(
            kind=kind,
            scratch=str(scratch),
            uid=self._uid,
            access=self._access(scratch),
            limits=limits,
            arguments=arguments,
            cpu=cpu,
            shared_bytes=arena.size_bytes,
        )
        return self._zygotes["native"].spawn(spec, arena.descriptor)

    def _launcher(self) -> Worker:
        """A worker of the judge's own code with a GPU context; nothing of a candidate has come near it."""
        folder = self.new_folder()
        spec = WorkerSpec(
            kind="launcher",
            scratch=str(folder),
            uid=self._uid_of("cuda"),
            access=self._access(folder, gpu=True),
            limits=_limits(None, LAUNCHER_TIMEOUT_S, PROCESS_LIMIT),
            gpu=True,
            timed=True,
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            return self._zygotes["cuda"].spawn(spec, theirs.fileno(), channel=ours)

    def _access(self, scratch: Path, *readable: Path, gpu: bool = False) -> Access:
        return Access(
            read_execute=(*SYSTEM_PATHS, *_interpreter_folders(), *(str(path) for path in readable)),
            read_write=(str(scratch), *WRITABLE_DEVICES, *(_gpu_paths() if gpu else ())),
        )


def _gpu_paths() -> list[str]:
    """What the CUDA driver opens; it writes to its own entries below /proc."""
    return [*(str(path) for path in Path("/dev").glob("nvidia*")), "/proc", "/sys", "/dev/shm"]


def _compiler_limits(timeout_s: float) -> Limits:
    return Limits(COMPILER_MEMORY_BYTES, OUTPUT_LIMIT_BYTES, PROCESS_LIMIT, int(timeout_s) + 5)


def _limits(memory_bytes: int | None, setup_timeout_s: float, processes: int) -> Limits:
    return Limits(memory_bytes, OUTPUT_LIMIT_BYTES, processes, int(setup_timeout_s) + 600)


def _processes(preload: str, threads: int) -> int:
    """A native worker gets the task's threads and no more: what runs beside it slows the baseline's worker.

    torch starts threads of its own, and a ModelNew may start a compiler.
    """
    return OWN_PROCESSES + threads - 1 if preload == "native" else PROCESS_LIMIT


def _interpreter_folders() -> list[str]:
    return sorted({sys.prefix, sys.base_prefix, sys.exec_prefix})


def _is_public(path: Path) -> bool:
    """Whether every user may enter the folder."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def remove_tree(folder: Path) -> None:
    """Remove a folder that a candidate may have filled: however deep, and whatever rights it took from itself."""
    for command in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
        subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _sweep() -> None:
    """Remove the folders of judges that were killed: nobody holds the lock on them any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_mtime > time.time() - SETTLING_S:
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(descriptor)
