"""Which compiled forms of a Triton candidate's kernels its shapes need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ....memory.errors import ConfigError
from ....memory.expressions import SM_COUNT
from ....memory.schema import LaunchPlan
from ..device_code import ResolvedStep, VariantKey, resolve_steps, variant_key
from ..problem import Signature
from .built import Order

TYPES = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "i1",
}  # fmt: skip


@dataclass(frozen=True)
class WantedVariant:
    """One form of one kernel."""

    kernel: str
    types: tuple[str, ...]
    """Of the plan's arguments, in Triton's words."""
    divisible: tuple[bool, ...]
    constants: tuple[tuple[str, int], ...]
    num_warps: int
    num_stages: int

    def describe(self) -> dict[str, object]:
        """What the compiling worker is told."""
        return {**asdict(self), "constants": dict(self.constants)}

    @property
    def text(self) -> str:
        """What sets it apart from the kernel's other forms."""
        words = [f"{name}={value}" for name, value in self.constants]
        integers = [
            f"argument {position} % 16 == 0"
            for position, (kind, divisible) in enumerate(zip(self.types, self.divisible, strict=True))
            if divisible and not kind.startswith("*")
        ]
        return ", ".join([*words, *integers, f"num_warps={self.num_warps}", f"num_stages={self.num_stages}"])


def wanted_variants(plan: LaunchPlan, order: Order) -> dict[VariantKey, WantedVariant]:
    """The forms for the timed shapes, exactly as Triton itself would specialise them, and general ones for the rest.

    Raises:
        ConfigError: a launch does not fit a shape, or asks for what Triton kernels cannot take.
    """
    wanted: dict[VariantKey, WantedVariant] = {}
    for hidden in (False, True):
        for resolved, types in _launches(plan, order, hidden=hidden):
            exact = variant_key(resolved, specialised=True)
            key = exact if exact in wanted or not hidden else variant_key(resolved, specialised=False)
            known = wanted.get(key)
            wide = (
                types
                if known is None
                else tuple(_wider(key[0], *pair) for pair in zip(known.types, types, strict=True))
            )
            wanted[key] = _variant(resolved, key, wide)
    return wanted


def _launches(plan: LaunchPlan, order: Order, *, hidden: bool) -> Iterator[tuple[ResolvedStep, tuple[str, ...]]]:
    for shape, signature in order.calls:
        if shape.hidden is not hidden:
            continue
        for resolved in resolve_steps(plan, signature, {**shape.symbols, SM_COUNT: order.sm_count}):
            yield resolved, tuple(_type(plan, signature, *argument) for argument in resolved.arguments)


def _variant(resolved: ResolvedStep, key: VariantKey, types: tuple[str, ...]) -> WantedVariant:
    kernel, constants, divisible, num_warps, num_stages = key
    if resolved.cluster != (1, 1, 1):
        raise ConfigError(f"launch plan: kernel {kernel}: cluster is for cuda kernels; Triton's run one block each")
    return WantedVariant(kernel, types, divisible, constants, num_warps, num_stages)


def _type(plan: LaunchPlan, signature: Signature, kind: str, value: int) -> str:
    if kind == "tensor":
        return f"*{TYPES[signature.named_tensors[value].dtype]}"
    if kind == "scratch":
        return f"*{TYPES[plan.scratch[value].dtype]}"
    if kind == "map":
        raise ConfigError(
            f"launch plan: tensor map {plan.tensor_maps[value].name}: Triton kernels take no tensor maps; "
            "pass the tensor itself"
        )
    return "i32" if -(2**31) <= value < 2**31 else "i64"


def _wider(kernel: str, first: str, second: str) -> str:
    """Where one form serves several launches, an integer is as wide as any of them needs."""
    if first != second and first.startswith("*"):
        raise ConfigError(
            f"launch plan: kernel {kernel} is launched with {first} and with {second} for one argument and the same "
            "constants: write one kernel for each, or tell them apart by a constant"
        )
    return "i64" if "i64" in (first, second) else first
