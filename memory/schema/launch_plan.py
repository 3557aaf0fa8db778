"""The launch plan of a device-only candidate: what the judge's own launcher runs, in which order, with what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Record
from .task import DType, Identifier

PlanExpression = int | str
"""An integer or an expression over the task's symbols and `device.sm_count`, such as `cdiv(rows, 4)`."""
Extents = Annotated[tuple[PlanExpression, ...], Field(min_length=1, max_length=3)]
MAX_STEPS = 32
MAX_TENSOR_MAP_RANK = 5


class ScratchBuffer(Record):
    """Device memory that lives for one call."""

    name: Identifier
    dtype: DType
    shape: tuple[PlanExpression, ...]
    zeroed: bool = False
    """Filled with zeros before each call, inside the timed region; otherwise it holds garbage."""


class TensorMap(Record):
    """A tiled TMA descriptor (CUtensorMap) over an input, an output or a scratch buffer; contiguous, row-major."""

    name: Identifier
    tensor: Identifier
    box: Annotated[tuple[PlanExpression, ...], Field(min_length=1, max_length=MAX_TENSOR_MAP_RANK)]
    """Elements that one bulk copy moves, outermost first as in the tensor's shape."""
    shape: tuple[PlanExpression, ...] = ()
    """The tensor's extents as the copy sees them, outermost first; default: the declared ones."""
    swizzle: Literal["none", "32B", "64B", "128B"] = "none"
    l2_promotion: Literal["none", "64B", "128B", "256B"] = "none"


class LaunchStep(Record):
    """One kernel launch."""

    kernel: Identifier
    grid: Extents
    """Blocks (Triton: program instances) along x, y, z."""
    block: Extents = (1,)
    """cuda: threads of a block along x, y, z. Triton has `num_warps` instead."""
    shared_bytes: PlanExpression = 0
    """cuda: dynamic shared memory of a block."""
    cluster: Extents = (1,)
    """Blocks of a cluster along x, y, z (compute capability 9.0 or later)."""
    arguments: tuple[PlanExpression, ...] | None = None
    """Names of tensors, scratch buffers, tensor maps, or integer expressions, in the kernel's order. Default: inputs,
    parameters, outputs, scratch buffers, then the symbols."""
    when: PlanExpression = 1
    """A condition over the symbols: the step is left out where it is 0."""
    constants: dict[Identifier, PlanExpression] = Field(default_factory=dict)
    """triton: values of the `tl.constexpr` parameters."""
    num_warps: Literal[1, 2, 4, 8, 16, 32] = 4
    """triton: warps of a program instance."""
    num_stages: int = Field(default=3, ge=1, le=16)
    """triton: stages of software pipelining."""


class LaunchPlan(Record):
    """All launches of one call, in order on one stream."""

    steps: Annotated[tuple[LaunchStep, ...], Field(min_length=1, max_length=MAX_STEPS)]
    scratch: tuple[ScratchBuffer, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> LaunchPlan:
        names = [*(entry.name for entry in self.scratch), *(entry.name for entry in self.tensor_maps)]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"the name {doubled[0]!r} is used twice among scratch and tensor_maps")
        return self


class KernelResources(Record):
    """What one compiled kernel takes, as the assembler reports it."""

    kernel: str
    target: str
    """The architecture it was compiled for, such as `sm_90`."""
    registers: int | None = Field(default=None, ge=0)
    """Registers of a thread."""
    shared_bytes: int | None = Field(default=None, ge=0)
    """Static shared memory of a block (Triton: all of it)."""
    spill_store_bytes: int | None = Field(default=None, ge=0)
    spill_load_bytes: int | None = Field(default=None, ge=0)
    stack_bytes: int | None = Field(default=None, ge=0)
    variant: str = ""
    """triton: the constants and specialisations of this variant."""
