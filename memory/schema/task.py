"""A task: what is to be optimised, self-contained, so that its id is the hash of what it means."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Record, StoredRecord, canonical_json, content_id
from .candidate import Candidate, Language
from .device import DeviceKind
from .strategies import DIRECTION_OF

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
ShapeExpression = int | str
"""An integer or an expression over the task's symbols, such as `rows * 2`."""

DTYPE_BYTES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
DType = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


class Distribution(StrEnum):
    """How the values of an input are drawn, as the task declares it."""

    NORMAL = "normal"
    """Standard normal; the judge adds large, spiky, trending and almost equal data."""
    UNIFORM = "uniform"
    """Uniform within [low, high); the judge's variants stay within it."""
    INTEGERS = "integers"
    """Integers within [low, high)."""


class TensorSpec(Record):
    """One tensor that goes in or comes out; contiguous, row-major."""

    name: Identifier
    dtype: DType
    shape: tuple[ShapeExpression, ...]


class InputSpec(TensorSpec):
    """An input and the distribution of its values."""

    distribution: Distribution = Distribution.NORMAL
    low: float | None = None
    """Lower bound, inclusive; `uniform` defaults to 0."""
    high: float | None = None
    """Upper bound, exclusive; `uniform` defaults to 1. `integers` needs both."""

    @model_validator(mode="after")
    def _bounds_fit(self) -> InputSpec:
        if self.distribution is Distribution.INTEGERS and (self.low is None or self.high is None):
            raise ValueError("distribution integers needs low and high")
        if self.distribution is Distribution.NORMAL and (self.low is not None or self.high is not None):
            raise ValueError("distribution normal takes no low or high; use uniform")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"low {self.low} must be below high {self.high}")
        return self


class SymbolDomain(Record):
    """The values that a symbol may take: the judge draws hidden shapes from here."""

    min: int = Field(default=1, ge=1)
    max: int = Field(ge=1)
    multiple_of: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _not_empty(self) -> SymbolDomain:
        if self.max // self.multiple_of * self.multiple_of < self.min:
            raise ValueError(f"no multiple of {self.multiple_of} lies within {self.min}..{self.max}")
        return self


class Tolerance(Record):
    """An output passes where |y - ref| <= relative * |ref| + rms * rms(ref), against a float64 reference."""

    relative: float = Field(default=1e-4, ge=0)
    rms: float = Field(default=1e-4, ge=0)
    """Share of the reference's root mean square that is allowed on top: scales with the data, never absolute."""


Forbidden = Literal["no_custom_kernel", "vendor_library", "output_buffer_reused", "reduced_precision"]


class Constraints(Record):
    """What a candidate may use."""

    threads: int = Field(default=1, ge=1)
    compiler_flags: tuple[str, ...] = ()
    """Flags beyond `-O3 -march=native`, each from the judge's allow-list."""
    compile_timeout_s: float = Field(default=60, gt=0, le=600)
    call_timeout_s: float = Field(default=10, gt=0, le=600)
    """One call of the candidate, its set-up (import, construction) apart."""
    setup_timeout_s: float = Field(default=120, gt=0, le=1200)
    extension_timeout_s: float = Field(default=300, gt=0, le=1200)
    """One build for `load_inline`: torch's headers alone take half a minute, and a busy machine several times that."""
    memory_bytes: int = Field(default=4 << 30, ge=1 << 28)
    forbid: tuple[Forbidden, ...] = ()
    """Findings that make a candidate fail; the others are reported and no more."""
    target_arch: str = Field(default="sm_90", pattern=r"^sm_[0-9]{2,3}[af]?$")
    """What device code is compiled for where there is no GPU; a GPU compiles for itself."""
    allow_tf32: bool = False
    """Whether float32 products on a GPU may round their inputs to TF32; widens the default tolerance."""


class FunctionReference(Record):
    """A PyTorch function `(inputs..., **symbols as keywords it names) -> output or tuple of outputs`."""

    kind: Literal["function"] = "function"
    path: str
    """File name, for messages."""
    source: str
    function: Identifier


class KernelBenchReference(Record):
    """A KernelBench problem file as it is: `Model`, `get_inputs`, `get_init_inputs`."""

    kind: Literal["kernelbench"] = "kernelbench"
    path: str
    source: str


Reference = Annotated[FunctionReference | KernelBenchReference, Field(discriminator="kind")]


class Parameter(Record):
    """One choice of a template: its values, each with a prior weight."""

    name: Identifier
    values: tuple[int | str, ...] = Field(min_length=1)
    default: int | str
    """The value while the strategy that opens it is not in use; must be one of `values`."""
    description: str = ""

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Parameter:
        if self.default not in self.values:
            raise ValueError(f"default {self.default!r} of {self.name} is not among its values {list(self.values)}")
        return self


class StrategyParameters(Record):
    """A strategy of the template: choosing it opens its parameters."""

    strategy: str
    """A strategy id, such as `vectorized_load`."""
    prior: float = Field(gt=0)
    """Relative weight of proposing this strategy first."""
    requires: tuple[str, ...] = ()
    """Strategies of this template that must be in use already."""
    parameters: tuple[Parameter, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _strategy_is_known(self) -> StrategyParameters:
        if self.strategy not in DIRECTION_OF:
            raise ValueError(f"unknown strategy {self.strategy!r} (allowed: {', '.join(sorted(DIRECTION_OF))})")
        return self


class Template(Record):
    """A Jinja2 source: parameters are its variables, so that strategies can open loops and branches."""

    language: Language
    path: str
    source: str
    strategies: tuple[StrategyParameters, ...] = Field(min_length=1)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, in the order of the file."""
        return tuple(parameter for entry in self.strategies for parameter in entry.parameters)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Template:
        names = [parameter.name for parameter in self.parameters]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"parameter {doubled[0]!r} is declared twice")
        known = [entry.strategy for entry in self.strategies]
        for position, entry in enumerate(self.strategies):
            for needed in entry.requires:
                if needed not in known[:position]:
                    raise ValueError(f"strategy {entry.strategy!r} requires {needed!r}, which must stand before it")
        return self


class Task(StoredRecord):
    """What is to be optimised. Built by the task loader, which has resolved every symbol and read every file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    description: str = ""
    device: DeviceKind = "cpu"
    """Where it is measured; a host without a GPU compiles for one, and measures nothing."""
    reference: Reference
    entry: Identifier
    """The C symbol that a `cpp` candidate exports."""
    seed: Candidate
    """The search's root."""
    baseline: Literal["seed", "reference"] = "seed"
    """What speedup and V divide by."""
    symbols: dict[Identifier, SymbolDomain | str] = Field(default_factory=dict)
    """Name -> domain, or an expression over other symbols; order is the order of the C arguments."""
    inputs: tuple[InputSpec, ...] = ()
    """Empty for a KernelBench problem, whose `get_inputs()` says it."""
    outputs: tuple[TensorSpec, ...] = ()
    shapes: tuple[dict[str, int], ...] = ()
    """The timed shapes: a value for each free symbol."""
    tolerance: Tolerance = Tolerance()
    objective: Literal["latency"] = "latency"
    constraints: Constraints = Constraints()
    flops: str | None = None
    """Floating-point operations of one call, an expression over the symbols."""
    traffic_bytes: str | None = None
    """Bytes that one call must move, an expression over the symbols."""
    template: Template | None = None

    @property
    def id(self) -> str:
        """The hash of everything that can change a verdict; wording and template are left out."""
        meaning = self.model_copy(update={"name": "task", "description": "", "template": None})
        return content_id(canonical_json(meaning))
