"""The task file: the YAML form of a task, whose JSON schema is published as `task.schema.json`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..memory.schema import (
    Constraints,
    DeviceKind,
    InputSpec,
    Language,
    Record,
    StrategyParameters,
    SymbolDomain,
    TensorSpec,
    Tolerance,
)
from ..memory.schema.task import Identifier


class ReferenceFile(Record):
    """The PyTorch function that defines what is right."""

    file: str
    """A Python file beside the task file."""
    function: Identifier
    """`function(inputs..., **symbols that it names) -> output or tuple of outputs`; called with float64 inputs."""


class SourceFile(Record):
    """A source file beside the task file."""

    file: str
    language: Language


class TemplateFile(SourceFile):
    """A Jinja2 source whose variables are parameters, opened by strategies."""

    strategies: tuple[StrategyParameters, ...] = Field(min_length=1)


class TaskFile(Record):
    """A kernelguild task."""

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    description: str = Field(default="", max_length=10_000)
    device: DeviceKind = "cpu"
    """Where it is measured: the processor, or an NVIDIA GPU."""
    reference: ReferenceFile
    seed_implementation: SourceFile
    """The search's root and the default baseline."""
    baseline: Literal["seed", "reference"] = "seed"
    """What the speedup divides by: the seed implementation or the PyTorch reference."""
    entry: Identifier = "kernel"
    """The C symbol that a `cpp` candidate exports."""
    symbols: dict[Identifier, SymbolDomain | str] = Field(default_factory=dict)
    """Name -> the values that it may take, or an expression over other symbols."""
    inputs: tuple[InputSpec, ...] = Field(min_length=1)
    outputs: tuple[TensorSpec, ...] = Field(min_length=1)
    shapes: tuple[dict[str, int], ...] = Field(min_length=1, max_length=16)
    """The timed shapes: a value for each symbol that has a domain."""
    tolerance: Tolerance | None = None
    """Default: by the outputs' least precise dtype."""
    constraints: Constraints = Constraints()
    flops: str | int | None = None
    """Floating-point operations of one call, an expression over the symbols."""
    traffic_bytes: str | int | None = None
    """Bytes that one call must move, an expression over the symbols."""
    template: TemplateFile | None = None
