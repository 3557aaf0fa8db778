"""The judge's side: finds out what a candidate wants built, builds it in confined workers, keeps it by content."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ....memory.schema import CompileReport, Status, content_id
from ..bench import Bench, Program, remove_tree
from ..build.built import MAX_LOG_BYTES, Built, is_made, shorten
from ..failure import CandidateFailure, clean
from ..place import Place
from ..worker import wait_or_timeout
from .call import MAX_CALLS, MAX_RECORD_BYTES, InlineCall, RefusedCallError, read_calls
from .diagnostics import failure_of, in_candidate, parted
from .headers import MAX_HEADER_BYTES, HeaderStore, fits
from .job import HEADERS_NAME, JOB_NAME, BuildJob
from .recorder import MODULE_WORD, RECORD_NAME
from .store import ExtensionStore
from .toolchain import cuda_architectures, toolchain_id

DISCOVERY_BYTES = 4096
MAX_LIBRARY_BYTES = 64 << 20


@dataclass(frozen=True)
class Library:
    """One extension that is ready, or why it is not."""

    command: str
    log: str
    cached: bool
    duration_s: float
    status: Status = Status.PASSED
    message: str = "compiled"


@dataclass
class ExtensionBuilder:
    """Gives candidates the extensions that they ask for."""

    bench: Bench
    store: ExtensionStore
    headers: HeaderStore
    _known: dict[Path, Built] = field(default_factory=dict)

    def complete(self, built: Built, program: Program, place: Place) -> Built:
        """Build all that the candidate asks for while it is loaded, beside its file.

        The file is loaded again after each round, since a later `load_inline` may depend on an earlier one.

        Raises:
            CandidateFailure: it cannot be loaded for another reason.
            UnavailableError: this host lacks a compiler.
        """
        if MODULE_WORD not in program.target.read_text(encoding="utf-8"):
            return built
        known = self._known.get(program.target)
        if known is not None:
            return replace(known, report=known.report.model_copy(update={"cached": True}))
        self._known = {target: kept for target, kept in self._known.items() if target.exists()}
        whole = _joined(built, self._all(program, place))
        if whole.status is not Status.TIMEOUT:
            self._known[program.target] = whole
        return whole

    def _all(self, program: Program, place: Place) -> list[Library]:
        """Every extension of the candidate, up to the first that fails."""
        libraries: list[Library] = []
        try:
            while calls := self._wanted(program, place):
                for call in calls:
                    if len(libraries) == MAX_CALLS:
                        raise RefusedCallError(f"load_inline: at most {MAX_CALLS} extensions in one file")
                    libraries.append(self._provide(call, program, place))
                    if libraries[-1].status is not Status.PASSED:
                        return libraries
        except RefusedCallError as error:
            message = clean(str(error))
            libraries.append(Library("", f"candidate.py: error: {message}", False, 0.0, Status.COMPILE_ERROR, message))
        return libraries

    def _wanted(self, program: Program, place: Place) -> tuple[InlineCall, ...]:
        """Load the candidate in a worker; empty when it has all that it asks for."""
        record = self.bench.new_folder() / RECORD_NAME
        try:
            self.bench.seat(program, place, DISCOVERY_BYTES, product=record).close()
        except CandidateFailure:
            if record.stat().st_size == 0:
                raise
            if record.stat().st_size > MAX_RECORD_BYTES:
                raise RefusedCallError("load_inline: it recorded more than fits") from None
            return read_calls(record.read_bytes())
        finally:
            remove_tree(record.parent)
        return ()

    def _provide(self, call: InlineCall, program: Program, place: Place) -> Library:
        """Put the library below the program's own folder, from the store or from the compiler."""
        if call.needs_cuda and place.kind != "cuda":
            raise RefusedCallError("load_inline: the task is measured on the CPU, where CUDA sources do not run")
        architectures = cuda_architectures() if call.needs_cuda else ""
        toolchain = toolchain_id(needs_cuda=call.needs_cuda, architectures=architectures)
        key = content_id(call.digest, toolchain)
        target = program.target.parent / call.digest
        start_s = time.monotonic()
        kept = self.store.get(key, target)
        if kept is not None:
            return Library(kept.command, kept.log, True, time.monotonic() - start_s)
        timeout_s = program.constraints.extension_timeout_s
        job = BuildJob(call=call, architectures=architectures, header_folder=self._headers(call, toolchain, timeout_s))
        library = self._compile(job, target, program, timeout_s, start_s)
        if library.status is Status.PASSED:
            path = target / f"{call.name}.so"
            self.store.put(key, path, command=library.command, log=library.log, duration_s=library.duration_s)
        return library

    def _headers(self, call: InlineCall, toolchain: str, timeout_s: float) -> str:
        """The folder of precompiled headers for the call's flags; empty where there are none, and need not be."""
        if not fits(call):
            return ""
        key = content_id(toolchain, *call.extra_cflags)
        lent = self.headers.lend(key, self.bench.folder)
        if lent is None and self.headers.are_worth_it(key):
            # Nothing but the flags is the candidate's, and those are on a list.
            plain = InlineCall(name="headers", cpp_sources=("",), extra_cflags=call.extra_cflags, functions={})
            product = self.bench.new_folder() / HEADERS_NAME
            exit_code, _ = self._work(BuildJob(call=plain, product="headers"), product, timeout_s)
            if exit_code == 0:
                self.headers.put(key, product)
            remove_tree(product.parent)
            lent = self.headers.lend(key, self.bench.folder)
        return "" if lent is None else str(lent)

    def _compile(self, job: BuildJob, target: Path, program: Program, timeout_s: float, start_s: float) -> Library:
        target.mkdir(mode=0o755)
        exit_code, output = self._work(job, target / f"{job.call.name}.so", timeout_s)
        commands, log = parted(output)
        duration_s = time.monotonic() - start_s
        if exit_code == 0:
            return Library(commands, log, False, duration_s)
        remove_tree(target)
        log = in_candidate(log, job.call, program.target.read_text(encoding="utf-8"))
        return Library(commands, log, False, duration_s, *failure_of(log, exit_code, timeout_s))

    def _work(self, job: BuildJob, product: Path, timeout_s: float) -> tuple[int | None, str]:
        """Do a job in a worker: its exit code (None: out of time; negative: a signal) and its output."""
        scratch = self.bench.new_scratch("torch")
        (scratch / JOB_NAME).write_text(job.model_dump_json(), encoding="utf-8")
        folders = (job.header_folder, os.environ.get("CUDA_HOME", ""))
        file_bytes = MAX_HEADER_BYTES if job.product == "headers" else MAX_LIBRARY_BYTES
        with self.bench.compile(
            "extension", "torch", scratch / JOB_NAME, (), timeout_s, product,
            readable=tuple(Path(folder) for folder in folders if folder), file_bytes=file_bytes,
        ) as worker:  # fmt: skip
            ended = wait_or_timeout(worker, timeout_s)
            output = clean(worker.output(MAX_LOG_BYTES).decode("utf-8", "replace"))
        if ended is None:
            return None, output
        if ended.exit_code == 0 and not is_made(product, ended):
            return 1, f"{output}\nerror: the compiler left no file that could be kept"
        return -(ended.signal or 1) if ended.exit_code is None else ended.exit_code, output


def _joined(built: Built, libraries: Sequence[Library]) -> Built:
    """The file's own report, and what its extensions add to it."""
    if not libraries:
        return built
    last = libraries[-1]
    log = "\n".join(library.log for library in libraries if library.log)
    diagnostics, truncated = shorten(log)
    report = CompileReport(
        ok=last.status is Status.PASSED,
        command=" && ".join(library.command for library in libraries if library.command) or built.report.command,
        diagnostics=diagnostics,
        truncated=truncated,
        cached=all(library.cached for library in libraries),
        duration_s=built.report.duration_s + sum(library.duration_s for library in libraries),
    )
    target = built.target if last.status is Status.PASSED else None
    return replace(built, report=report, log=log.encode(), target=target, status=last.status, message=last.message)
