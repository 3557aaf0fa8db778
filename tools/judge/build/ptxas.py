"""What the assembler says of each kernel (`ptxas -v`), out of a compiler's log."""

from __future__ import annotations

import re

from ....memory.schema import KernelResources

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def resources(log: str, arch: str) -> tuple[KernelResources, ...]:
    """One entry per kernel, in the log's order. `arch` is what was asked for."""
    pieces = _ENTRY.split(log)[1:]
    return tuple(
        _kernel(name, arch, body) for name, _, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    )


def _kernel(name: str, arch: str, body: str) -> KernelResources:
    stack, registers, shared = _STACK.search(body), _REGISTERS.search(body), _SHARED.search(body)
    return KernelResources(
        kernel=name,
        target=arch,
        registers=int(registers[1]) if registers else None,
        shared_bytes=int(shared[1]) if shared else (0 if registers else None),
        stack_bytes=int(stack[1]) if stack else None,
        spill_store_bytes=int(stack[2]) if stack else None,
        spill_load_bytes=int(stack[3]) if stack else None,
    )
