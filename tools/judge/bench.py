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
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from ...memory.schema import Constraints, DeviceKind, Isolation, Language
from .access import MOUNT, Access, Limits
from .arena import Arena
from .device_code import DeviceCode
from .environment import child_environment
from .failure import blamed
from .host_memory import HostMemory
from .languages import RUNNERS, Runner
from .launchers import LAUNCHER_TIMEOUT_S, Launchers
from .namespaces import other_user
from .place import Place
from .sandbox import Confinement
from .seat import Seat
from .worker import Worker, Zygote, confined
from .worker_spec import Kind, Preload, WorkerSpec

SYSTEM_PATHS = (
    "/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
WRITABLE_DEVICES = ("/dev/null",)
FOLDER_PREFIX = f"kernelguild-judge-{os.getuid()}-"
SETTLING_S = 60
"""A younger folder may not be locked by its owner yet."""
OUTPUT_LIMIT_BYTES = 64 << 20
OWN_ENVIRONMENT = {"interpreter": {"TRITON_INTERPRET": "1"}}
"""Triton decides when it is imported whether it compiles or interprets."""
MANY_TASKS = 64
COMPILER_MEMORY_BYTES = min(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
CUDA_MEMORY_BYTES = 4 << 30
"""What a process holds of the host's memory because it uses a GPU, at most."""
EMPTY_MEMORY_BYTES = 1 << 30
EMPTY_TIMEOUT_S = 60
CPU_SLACK_S = 600


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
    loop: Path | None = None
    """cpp: what answers the judge's calls in the worker; elsewhere Python does."""

    @property
    def folders(self) -> list[Path]:
        """What a worker must read."""
        return [path.parent for path in (self.target, self.loop) if path is not None]


class Bench:
    """All that a judge process keeps between evaluations: zygotes and a folder of its own."""

    def __init__(self, isolation: Isolation) -> None:
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        self.folder.chmod(0o711)
        self._scratches: list[Path] = []
        self._isolation = isolation
        self._uid = other_user()
        self._interpreter_is_public = all(
            _is_public(Path(path), alone=MOUNT in isolation.layers) for path in _interpreter_folders()
        )
        self._claim = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._claim, fcntl.LOCK_EX)
        # Threads that spin between calls would compete with whoever is timed then.
        environment = {
            **child_environment(os.environ), "LC_ALL": "C.UTF-8", "HOME": str(self.folder), "OMP_WAIT_POLICY": "passive"
        }  # fmt: skip
        self._zygotes: dict[Preload, Zygote] = {
            name: Zygote(name, {**environment, **OWN_ENVIRONMENT.get(name, {})}, isolation.layers)
            for name in get_args(Preload)
        }
        self._launchers = Launchers(self._launcher)

    def seat(
        self,
        program: Program,
        place: Place,
        size_bytes: int,
        *,
        cpu: int | None = None,
        timed: bool = False,
        ghost: bool = False,
        product: Path | None = None,
    ) -> Seat:
        """A worker with the program loaded, and memory of `size_bytes` that it shares with the judge.

        Args:
            cpu: the core to pin it to.
            timed: whether it times its own calls; never for a candidate that has host code.
            ghost: whether its kernels' results are spoiled; `pytorch` alone.
            product: where the file of this name is kept that it leaves in its folder when it ends by itself.

        Raises:
            CandidateFailure: it could not be loaded.
        """
        seat = self.start(program, place, size_bytes, cpu=cpu, timed=timed, ghost=ghost, product=product)
        with contextlib.ExitStack() as stack:
            stack.enter_context(seat)
            self.await_ready(seat, program)
            stack.pop_all()
        return seat

    def start(
        self,
        program: Program,
        place: Place,
        size_bytes: int,
        *,
        cpu: int | None = None,
        timed: bool = False,
        ghost: bool = False,
        product: Path | None = None,
    ) -> Seat:
        """As `seat`, without waiting: several start side by side, and `await_ready` comes after."""
        runner = RUNNERS[program.language, place.kind]
        with contextlib.ExitStack() as stack:
            arena = place.arena(size_bytes)
            stack.callback(arena.close)
            if runner.kind == "launcher":
                worker = stack.enter_context(self._launchers.take())
                worker.give(arena.descriptor)
            else:
                spec = self._spec(program, runner, place, arena, cpu=cpu, timed=timed)
                spec = replace(spec, ghost=ghost)
                worker = self._start(spec, runner.preload, arena, product)
            stack.pop_all()
        return Seat(worker, arena, place, program.device_code)

    def await_ready(self, seat: Seat, program: Program) -> None:
        """Wait until a started seat has loaded its program; one that fails is still to be closed.

        Raises:
            CandidateFailure: it could not be loaded.
            HarnessError: it could not be confined.
        """
        if RUNNERS[program.language, seat.place.kind].kind == "launcher":
            return
        timeout_s = program.constraints.setup_timeout_s
        seat.worker.wait_confined()
        with blamed(seat.worker, "loading the candidate", timeout_s):
            seat.worker.wait_ready(timeout_s)

    def _spec(
        self, program: Program, runner: Runner, place: Place, arena: Arena, *, cpu: int | None, timed: bool
    ) -> WorkerSpec:
        constraints = program.constraints
        on_gpu = place.kind == "cuda"
        limits = _limits_of(runner.preload, constraints, on_gpu=on_gpu)
        return WorkerSpec(
            kind=runner.kind,
            confinement=self._confinement(runner.preload, program.scratch, limits, *program.folders, gpu=on_gpu),
            target=str(program.target),
            entry=program.entry,
            loop="" if program.loop is None else str(program.loop),
            threads=constraints.threads,
            cpu=cpu,
            shared_bytes=arena.size_bytes,
            gpu=on_gpu,
            timed=timed,
            allow_tf32=constraints.allow_tf32,
            construction_seed=program.construction_seed,
            init_inputs=json.dumps(program.init_inputs),
        )

    def empty_seat(self, place: Place, size_bytes: int, *, cpu: int | None, loop: Path | None = None) -> Seat:
        """A worker that runs nobody's code, and answers as programs with this loop do: what a call costs by itself."""
        arena = place.arena(size_bytes)
        limits = Limits(EMPTY_MEMORY_BYTES, OUTPUT_LIMIT_BYTES, 1, EMPTY_TIMEOUT_S + CPU_SLACK_S)
        confinement = self._confinement("native", self.new_scratch(), limits, *([] if loop is None else [loop.parent]))
        spec = WorkerSpec(
            "empty", confinement, loop="" if loop is None else str(loop), cpu=cpu, shared_bytes=arena.size_bytes
        )
        worker = self._zygotes["native"].spawn(spec, arena.descriptor)
        worker.wait_ready(EMPTY_TIMEOUT_S)
        return Seat(worker, arena, place)

    def execute(self, arguments: tuple[str, ...], scratch: Path, timeout_s: float, product: Path) -> Worker:
        """A confined command, such as a compiler; the caller waits for its end.

        What lies in `scratch` is there for it. Of what it writes, the file of the product's name is kept at `product`
        if the command ends well; it is empty where there is no such file, or none that could be taken.
        """
        confinement = self._confinement("native", scratch, _compiler_limits(timeout_s))
        return self._compile(WorkerSpec("exec", confinement, arguments=arguments), "native", product)

    def compile(
        self,
        kind: Kind,
        preload: Preload,
        source: Path,
        options: tuple[str, ...],
        timeout_s: float,
        product: Path,
        *,
        readable: tuple[Path, ...] = (),
        file_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Worker:
        """A confined compiler over a source in its scratch folder, else as `execute`."""
        limits = replace(_compiler_limits(timeout_s), file_bytes=file_bytes)
        confinement = self._confinement(preload, source.parent, limits, *readable)
        return self._compile(WorkerSpec(kind, confinement, target=str(source), arguments=options), preload, product)

    def _compile(self, spec: WorkerSpec, preload: Preload, product: Path) -> Worker:
        with Arena(HostMemory(4096)) as arena:
            return confined(self._start(replace(spec, shared_bytes=arena.size_bytes), preload, arena, product))

    def _start(self, spec: WorkerSpec, preload: Preload, arena: Arena, product: Path | None) -> Worker:
        if product is None:
            return self._zygotes[preload].start(spec, arena.descriptor)
        with product.open("xb") as file:
            spec = replace(spec, product=product.name)
            return self._zygotes[preload].start(spec, arena.descriptor, product=file.fileno())

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

    def isolation(self, language: Language, place: DeviceKind) -> Isolation:
        """What confines workers of this language, and what they lack, each with the reason."""
        missing = list(self._isolation.missing)
        runner = RUNNERS.get((language, place))
        if runner is not None and os.getuid() == 0 and self._uid_of(runner.preload) is None:
            missing.append("thread limit: it does not bind root, who can become no other user here")
        return self._isolation.model_copy(update={"missing": tuple(missing)})

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

    def _launcher(self) -> Worker:
        """A worker of the judge's own code with a GPU context; nothing of a candidate has come near it."""
        limits = Limits(
            CUDA_MEMORY_BYTES, OUTPUT_LIMIT_BYTES, MANY_TASKS, LAUNCHER_TIMEOUT_S + CPU_SLACK_S, reserves=True
        )
        spec = WorkerSpec(
            kind="launcher",
            confinement=self._confinement("cuda", self.new_folder(), limits, gpu=True),
            gpu=True,
            timed=True,
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            return self._zygotes["cuda"].spawn(spec, theirs.fileno(), channel=ours)

    def _confinement(
        self, preload: Preload, scratch: Path, limits: Limits, *readable: Path, gpu: bool = False
    ) -> Confinement:
        access = Access(
            read_execute=(
                *SYSTEM_PATHS,
                *_interpreter_folders(),
                *(str(path) for path in readable),
                *(("/sys",) if gpu else ()),
            ),
            devices=(*WRITABLE_DEVICES, *(_gpu_paths() if gpu else ())),
            gpu=gpu,
        )
        return Confinement(access, limits, str(scratch), self._isolation.layers, self._uid_of(preload))


def _gpu_paths() -> list[str]:
    """What the CUDA driver opens for writing; its own entries below /proc among them."""
    return [*(str(path) for path in Path("/dev").glob("nvidia*")), "/proc", "/dev/shm"]


def _compiler_limits(timeout_s: float) -> Limits:
    return Limits(COMPILER_MEMORY_BYTES, OUTPUT_LIMIT_BYTES, MANY_TASKS, int(timeout_s) + 5, may_fork=True)


def _limits_of(preload: Preload, constraints: Constraints, *, on_gpu: bool) -> Limits:
    """The task's threads and no more, and no processes: what runs beside a worker slows the baseline's.

    A PyTorch program brings up to three pools of threads: OpenMP's, torch's own and that of numpy's BLAS. The CUDA
    driver and Triton start threads of their own, and Triton starts compilers.
    """
    cpu_s = int(constraints.setup_timeout_s) + CPU_SLACK_S
    if on_gpu:
        memory_bytes = constraints.memory_bytes + CUDA_MEMORY_BYTES
        return Limits(memory_bytes, OUTPUT_LIMIT_BYTES, MANY_TASKS, cpu_s, may_fork=True, reserves=True)
    if preload == "interpreter":
        return Limits(constraints.memory_bytes, OUTPUT_LIMIT_BYTES, MANY_TASKS, cpu_s, may_fork=True)
    tasks = constraints.threads if preload == "native" else 1 + 3 * (constraints.threads - 1)
    return Limits(constraints.memory_bytes, OUTPUT_LIMIT_BYTES, tasks, cpu_s)


def _interpreter_folders() -> list[str]:
    return sorted({sys.prefix, sys.base_prefix, sys.exec_prefix})


def _is_public(path: Path, *, alone: bool) -> bool:
    """Whether every user may enter the folder; `alone` where those above it do not count."""
    return all(folder.stat().st_mode & 0o001 for folder in ((path,) if alone else (path, *path.parents)))


def remove_tree(folder: Path) -> None:
    """Remove a folder that a candidate may have filled: however deep, and whatever rights it took from itself."""
    with contextlib.suppress(OSError):
        # Most hold a few files of the judge's own: starting two commands takes longer than removing those.
        _remove_files(folder)
        folder.rmdir()
        return
    for command in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
        subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _remove_files(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                os.unlink(entry.name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


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
