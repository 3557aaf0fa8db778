"""Which layers of confinement this host grants: tried in throw-away children, never assumed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial

from ...memory.schema import Isolation
from . import sandbox
from .access import LAYERS, OPTIONAL_LAYERS, Access, Limits
from .namespaces import machine_proc, other_user
from .sandbox import Confinement

_LIMITS = Limits(1 << 30, 1 << 20, 8, 5)


def probe() -> Isolation:
    """Try all layers at once; where that fails, each on top of those that did not."""
    with tempfile.TemporaryDirectory(prefix="kernelguild-probe-", ignore_cleanup_errors=True) as scratch:
        if not _refusal(LAYERS, scratch):
            return Isolation(confined=True, layers=LAYERS)
        granted: tuple[str, ...] = ()
        missing: dict[str, str] = {}
        for layer in LAYERS:
            reason = _refusal((*granted, layer), scratch)
            if reason:
                missing[layer] = reason
            else:
                granted = (*granted, layer)
    return Isolation(
        confined=not set(missing) - OPTIONAL_LAYERS,
        layers=granted,
        missing=tuple(f"{layer}: {reason}" for layer, reason in missing.items()),
    )


def why_refused(isolation: Isolation) -> str:
    """What to tell the user of a host that cannot confine."""
    return (
        f"this host cannot confine candidates ({'; '.join(isolation.missing)}): kernelguild needs user namespaces and "
        "Landlock (Linux 5.13 or later; in a container, allow unshare and landlock); to run candidates that you trust "
        "all the same, put --unconfined before the command or set KERNELGUILD_UNCONFINED=1"
    )


def _refusal(layers: tuple[str, ...], scratch: str) -> str:
    """Why a process cannot be confined by these layers; empty where it can."""
    confinement = Confinement(Access(("/usr",), ("/dev/null",)), _LIMITS, scratch, layers, other_user())
    receiver, sender = os.pipe()
    child = _fork(lambda: _outer(confinement, sender), sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    return text


def _outer(confinement: Confinement, sender: int) -> None:
    sandbox.found(confinement.layers)
    # The second shows that there can be more than one.
    for _ in range(2):
        fork = partial(sandbox.fork_first, confinement.layers)
        os.waitpid(_fork(lambda: _inner(confinement), sender, fork), 0)


def _inner(confinement: Confinement) -> None:
    with machine_proc() as proc:
        sandbox.settle(confinement, proc)
        sandbox.confine(confinement, proc)


def _fork(body: Callable[[], None], sender: int, fork: Callable[[], int] = os.fork) -> int:
    """A child that says on `sender` what was refused to it, if anything."""
    child = fork()
    if child == 0:
        message = "the probe died"
        try:
            body()
            message = ""
        except OSError as error:
            message = f"{error.filename or 'system call'}: {error.strerror}"
        finally:
            os.write(sender, message.encode())
            os._exit(0)
    return child
