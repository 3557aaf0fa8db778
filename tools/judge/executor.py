"""An evaluation as a pure function of its request, run by judge processes on this machine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import TypeAdapter

from ...memory.errors import ConfigError, HarnessError, UnavailableError
from .environment import child_environment
from .framing import HEADER
from .request import EvaluationRequest, Judged, Progress, Refused, Reply

OnProgress = Callable[[Progress], Awaitable[None]]

END_TIMEOUT_S = 5
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
_ERRORS = {"input": ConfigError, "unavailable": UnavailableError, "harness": HarnessError}


class Executor(Protocol):
    """Where evaluations run."""

    async def run(self, request: EvaluationRequest, progress: OnProgress | None = None) -> Judged:
        """Judge one candidate; cancelling it stops the work.

        Raises:
            ConfigError: the task itself is wrong.
            UnavailableError: this host cannot do it.
            HarnessError: the judge broke.
        """
        ...


class JudgeProcess:
    """One judge process and the frames that go in and out."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = BufferedByteReceiveStream(process.stdout)

    async def ask(self, request: EvaluationRequest, progress: OnProgress | None) -> Judged:
        data = request.model_dump_json().encode()
        try:
            await self._stdin.send(HEADER.pack(len(data)) + data)
            while True:
                reply = await self._receive()
                if isinstance(reply, Judged):
                    return reply
                if isinstance(reply, Refused):
                    raise _ERRORS[reply.reason](reply.message)
                if progress is not None:
                    await progress(reply)
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            raise HarnessError(f"the judge process died (exit code {self._process.returncode})") from None

    async def _receive(self) -> Reply:
        (size,) = HEADER.unpack(await self._stdout.receive_exactly(HEADER.size))
        return _REPLY.validate_json(await self._stdout.receive_exactly(size))

    async def end(self) -> None:
        """Let it clean up behind itself; idle judges only."""
        with anyio.move_on_after(END_TIMEOUT_S, shield=True):
            await self._stdin.aclose()
            await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it at once; zygotes and workers die with it."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await self._process.aclose()


class LocalExecutor:
    """Up to `size` judge processes, each started when it is first needed and kept warm."""

    def __init__(self, size: int, environment: Mapping[str, str]) -> None:
        self._slots = anyio.Semaphore(size)
        self._idle: list[JudgeProcess] = []
        self._environment = child_environment(environment)

    async def run(self, request: EvaluationRequest, progress: OnProgress | None = None) -> Judged:
        async with self._slots:
            judge = self._idle.pop() if self._idle else await self._start()
            try:
                judged = await judge.ask(request, progress)
            except ConfigError:
                self._idle.append(judge)
                raise
            except BaseException:  # cancelled or broken: whatever it is doing now is nobody's
                await judge.kill()
                raise
            self._idle.append(judge)
            return judged

    async def end(self) -> None:
        """End the idle judges; nothing may be running any more."""
        while self._idle:
            await self._idle.pop().end()

    async def _start(self) -> JudgeProcess:
        return JudgeProcess(
            await anyio.open_process(
                [sys.executable, "-P", "-m", "kernelguild.tools.judge.main"],
                stderr=None,
                env=self._environment,
                # A terminal's Ctrl-C is for the caller, who then stops the judge in order.
                start_new_session=True,
            )
        )


@asynccontextmanager
async def local_executor(environment: Mapping[str, str]) -> AsyncIterator[LocalExecutor]:
    """An executor whose processes end with the context; as many as there are cores."""
    executor = LocalExecutor(max(1, len(os.sched_getaffinity(0))), environment)
    try:
        yield executor
    finally:
        await executor.end()
