"""Builds candidates of every language; the latest are kept, so that the same text is built once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ....memory.schema import Language, Status, content_id
from ..bench import Bench, remove_tree
from .built import Built, Compiler, Order
from .cpp import CppCompiler
from .cuda import CudaCompiler, checked
from .native_loop import NativeLoops
from .pytorch import PytorchCompiler
from .triton import TritonCompiler

KNOWN_BUILDS = 64


@dataclass
class Builder:
    """One compiler per language over one bench."""

    bench: Bench
    _cache: dict[str, Built] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._compilers: dict[Language, Compiler] = {
            Language.CPP: CppCompiler(self.bench, NativeLoops(self.bench)),
            Language.PYTORCH: PytorchCompiler(self.bench),
            Language.CUDA: CudaCompiler(self.bench),
            Language.TRITON: TritonCompiler(self.bench),
        }

    def build(self, order: Order) -> Built:
        """Compile (or parse) a candidate for a task; a failure is a result."""
        compiler = self._compilers[order.candidate.language]
        key = content_id(order.candidate.id, *compiler.key(order))
        known = self._cache.pop(key, None)
        if known is not None:
            self._cache[key] = known
            return checked(replace(known, report=known.report.model_copy(update={"cached": True})), order)
        built = compiler.compile(order)
        if built.status is not Status.TIMEOUT:
            self._cache[key] = built
            self._forget()
        return built

    def _forget(self) -> None:
        while len(self._cache) > KNOWN_BUILDS:
            oldest = self._cache.pop(next(iter(self._cache)))
            if oldest.target is not None:
                remove_tree(oldest.target.parent)
