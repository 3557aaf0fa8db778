"""Compiled device-only code with its launch plan: at given shapes, it says exactly what the judge's launcher does."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...memory.errors import ConfigError, ExpressionError
from ...memory.expressions import SM_COUNT, parse
from ...memory.schema import DTYPE_BYTES, LaunchPlan, LaunchStep, TensorMap
from ...memory.schema.launch_plan import PlanExpression
from .problem import Shape, Signature

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK_THREADS = 1024
MAX_CLUSTER_BLOCKS = 16
MAX_SHARED_BYTES = 1 << 20
MAX_SCRATCH_BYTES = 16 << 30
ALIGNMENT = 16
"""Triton compiles a faster form for integers that are multiples of this."""

Launches = dict[str, Any]
"""What a launcher's layout holds beside the tensors: plain JSON."""
Argument = tuple[str, int]
"""("tensor" | "scratch" | "map", its position) or ("int", its value)."""


@dataclass(frozen=True)
class ResolvedStep:
    """One launch with every expression evaluated."""

    step: LaunchStep
    grid: tuple[int, ...]
    block: tuple[int, ...]
    cluster: tuple[int, ...]
    shared_bytes: int
    arguments: tuple[Argument, ...]
    constants: tuple[tuple[str, int], ...]

    @property
    def divisible(self) -> tuple[bool, ...]:
        """Per argument: a pointer (the judge aligns them all) or an integer that is a multiple of 16."""
        return tuple(kind != "int" or value % ALIGNMENT == 0 for kind, value in self.arguments)


@dataclass(frozen=True)
class Variant:
    """One compiled form of one kernel."""

    module: int
    function: str
    threads: int = 0
    """triton: threads of a block; 0 takes the plan's block."""
    shared_bytes: int = 0
    """triton: dynamic shared memory of a block; 0 takes the plan's."""


VariantKey = tuple[str, tuple[tuple[str, int], ...], tuple[bool, ...], int, int]


def variant_key(resolved: ResolvedStep, *, specialised: bool) -> VariantKey:
    """What Triton compiles anew for: kernel, constants, divisibility of the arguments, warps, stages."""
    divisible = resolved.divisible if specialised else tuple(kind != "int" for kind, _ in resolved.arguments)
    step = resolved.step
    return (step.kernel, resolved.constants, divisible, step.num_warps, step.num_stages)


@dataclass(frozen=True)
class DeviceCode:
    """Modules and how to launch them."""

    plan: LaunchPlan
    modules: tuple[bytes, ...]
    """cubins; none where Triton's interpreter runs the source itself."""
    named: Mapping[str, Variant] = field(default_factory=dict)
    """cuda: one compiled form per kernel."""
    variants: Mapping[VariantKey, Variant] = field(default_factory=dict)
    """triton: one compiled form per kernel, constants and divisibility."""

    @property
    def encoded_modules(self) -> list[str]:
        """The modules as a layout holds them: base64."""
        return [base64.b64encode(module).decode() for module in self.modules]

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """What a profiler calls the plan's kernels: the functions' names without types."""
        return tuple(sorted({step.kernel for step in self.plan.steps}))

    def launches(self, signature: Signature, symbols: Mapping[str, int], sm_count: int) -> Launches:
        """The launch sequence at one shape.

        Raises:
            ConfigError: an expression does not fit, or a launch is beyond what any device can do.
        """
        values = {**symbols, SM_COUNT: sm_count}
        steps = [self._describe(resolved) for resolved in resolve_steps(self.plan, signature, values)]
        maps = [self._tensor_map(entry, signature, values) for entry in self.plan.tensor_maps]
        return {"steps": steps, "scratch": self._scratch(values), "maps": maps}

    def uncompiled(self) -> DeviceCode:
        """The plan alone: for an interpreter, which runs the source."""
        return DeviceCode(self.plan, ())

    def _tensor_map(self, entry: TensorMap, signature: Signature, values: Mapping[str, int]) -> dict[str, object]:
        where = f"tensor_maps: {entry.name}"
        tensors = signature.named_tensors
        names = [tensor.name for tensor in tensors]
        if entry.tensor in names:
            kind, index = "tensor", names.index(entry.tensor)
            dtype, declared = tensors[index].dtype, tensors[index].shape
        else:
            kind, index = "scratch", _position([buffer.name for buffer in self.plan.scratch], entry.tensor, where)
            buffer = self.plan.scratch[index]
            dtype, declared = buffer.dtype, _extents(buffer.shape, values, where)
        shape = _extents(entry.shape, values, where) if entry.shape else declared
        box = _extents(entry.box, values, where)
        if math.prod(shape) > math.prod(declared) or len(box) != len(shape):
            raise ConfigError(
                f"launch plan: {where}: shape {list(shape)} with box {list(box)} does not fit {entry.tensor}, "
                f"which has shape {list(declared)}"
            )
        return {
            "on": [kind, index], "dtype": dtype, "shape": shape, "box": box, "swizzle": entry.swizzle,
            "l2_promotion": entry.l2_promotion,
        }  # fmt: skip

    def _scratch(self, values: Mapping[str, int]) -> list[dict[str, object]]:
        buffers: list[dict[str, object]] = []
        total = 0
        for entry in self.plan.scratch:
            extents = _extents(entry.shape, values, f"scratch: {entry.name}")
            size = math.prod(extents) * DTYPE_BYTES[entry.dtype]
            total += size
            buffers.append({"bytes": size, "zeroed": entry.zeroed, "dtype": entry.dtype, "shape": extents})
        if total > MAX_SCRATCH_BYTES:
            raise ConfigError(f"launch plan: scratch: {total} bytes; at most {MAX_SCRATCH_BYTES} are given")
        return buffers

    def _describe(self, resolved: ResolvedStep) -> dict[str, object]:
        variant = self._variant(resolved)
        return {
            "module": variant.module,
            "function": variant.function,
            "grid": resolved.grid,
            "block": (variant.threads, 1, 1) if variant.threads else resolved.block,
            "cluster": resolved.cluster,
            "shared_bytes": variant.shared_bytes or resolved.shared_bytes,
            "arguments": resolved.arguments,
            "constants": dict(resolved.constants),
        }

    def _variant(self, resolved: ResolvedStep) -> Variant:
        kernel = resolved.step.kernel
        if not self.variants:
            return self.named.get(kernel) or Variant(0, kernel)
        known = self.variants.get(variant_key(resolved, specialised=True))
        return known or self.variants[variant_key(resolved, specialised=False)]


def check_launches(plan: LaunchPlan, calls: Sequence[tuple[Shape, Signature]], sm_count: int) -> None:
    """Work the plan out at every shape, before anything is compiled for it.

    Raises:
        ConfigError: it does not fit one of them.
    """
    code = DeviceCode(plan, ())
    for shape, signature in calls:
        code.launches(signature, shape.symbols, sm_count)


def resolve_steps(plan: LaunchPlan, signature: Signature, values: Mapping[str, int]) -> list[ResolvedStep]:
    """The steps of a plan whose condition holds at one shape.

    Raises:
        ConfigError: an expression does not fit, or a launch is beyond what any device can do.
    """
    return [
        _resolve(plan, step, f"steps.{number}", signature, values)
        for number, step in enumerate(plan.steps)
        if _value(step.when, values, f"steps.{number}.when")
    ]


def _resolve(
    plan: LaunchPlan, step: LaunchStep, where: str, signature: Signature, values: Mapping[str, int]
) -> ResolvedStep:
    grid, block, cluster = (
        _three(extents, values, f"{where}.{name}")
        for name, extents in (("grid", step.grid), ("block", step.block), ("cluster", step.cluster))
    )
    shared_bytes = _value(step.shared_bytes, values, f"{where}.shared_bytes")
    for name, extents, most in (("grid", grid, MAX_GRID), ("block", block, (1024, 1024, 64))):
        if any(extent > limit for extent, limit in zip(extents, most, strict=True)):
            raise ConfigError(f"launch plan: {where}.{name}: {list(extents)} is beyond the limit {list(most)}")
    if math.prod(block) > MAX_BLOCK_THREADS or math.prod(cluster) > MAX_CLUSTER_BLOCKS:
        raise ConfigError(
            f"launch plan: {where}: block {list(block)}, cluster {list(cluster)}: at most {MAX_BLOCK_THREADS} threads "
            f"a block and {MAX_CLUSTER_BLOCKS} blocks a cluster"
        )
    if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
        raise ConfigError(f"launch plan: {where}.shared_bytes: {shared_bytes} is not within 0..{MAX_SHARED_BYTES}")
    constants = tuple(
        (name, _value(text, values, f"{where}.constants.{name}")) for name, text in step.constants.items()
    )
    return ResolvedStep(
        step, grid, block, cluster, shared_bytes, _arguments(plan, step, where, signature, values), constants
    )


def _arguments(
    plan: LaunchPlan, step: LaunchStep, where: str, signature: Signature, values: Mapping[str, int]
) -> tuple[Argument, ...]:
    tensors = [entry.name for entry in signature.named_tensors]
    scratch = [entry.name for entry in plan.scratch]
    maps = [entry.name for entry in plan.tensor_maps]
    asked = step.arguments if step.arguments is not None else (*tensors, *scratch, *signature.symbol_names)
    resolved: list[Argument] = []
    for position, argument in enumerate(asked):
        for kind, names in (("tensor", tensors), ("scratch", scratch), ("map", maps)):
            if argument in names:
                resolved.append((kind, names.index(str(argument))))
                break
        else:
            known = {**values, **dict.fromkeys((*tensors, *scratch, *maps), 0)}
            resolved.append(("int", _value(argument, values, f"{where}.arguments.{position}", known)))
    return tuple(resolved)


def _three(extents: Sequence[PlanExpression], values: Mapping[str, int], where: str) -> tuple[int, int, int]:
    given = _extents(extents, values, where)
    x, y, z = (*given, *(1,) * (3 - len(given)))
    return x, y, z


def _extents(extents: Sequence[PlanExpression], values: Mapping[str, int], where: str) -> tuple[int, ...]:
    evaluated = tuple(_value(extent, values, where) for extent in extents)
    if min(evaluated, default=1) < 1:
        raise ConfigError(f"launch plan: {where}: {list(evaluated)}: an extent is at least 1 (shape {dict(values)})")
    return evaluated


def _value(text: PlanExpression, values: Mapping[str, int], where: str, known: Mapping[str, int] | None = None) -> int:
    try:
        return parse(text).evaluate(values)
    except ExpressionError as error:
        names = ", ".join(sorted(known or values))
        hint = f" (names: {names})" if known else ""
        if str(text).count("(") != str(text).count(")"):
            hint += "; YAML splits [...] at commas: put an expression that holds one in quotes"
        raise ConfigError(f"launch plan: {where}: {error}{hint}") from None


def _position(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise ConfigError(f"launch plan: {where}: {name!r} is no input, output or scratch buffer")
    return names.index(name)
