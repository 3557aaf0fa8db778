"""The trusted side of a task: shapes, inputs, parameters and expected outputs. Lives in the judge's process alone."""

from __future__ import annotations

import secrets
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from ...memory.errors import ConfigError, ExpressionError
from ...memory.expressions import parse, resolve
from ...memory.schema import (
    DeviceKind,
    FunctionReference,
    InputSpec,
    KernelBenchReference,
    SymbolDomain,
    Task,
    TensorSpec,
)
from .arena import TensorPlan, required_bytes
from .cases import CASES, DECLARED, draw, reseed, wide
from .extents import draw_extent, round_up, smaller_symbols

HIDDEN_SHAPES = 4
HIDDEN_BYTES = 256 << 20
DTYPE_NAMES = {getattr(torch, name): name for name in (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
)}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """One set of symbol values."""

    symbols: dict[str, int]
    hidden: bool


@dataclass(frozen=True)
class Signature:
    """What a call takes and gives at one shape."""

    inputs: tuple[TensorPlan | object, ...]
    """A tensor's plan, or a plain value that is passed on as it is."""
    outputs: tuple[TensorPlan, ...]
    parameters: tuple[TensorPlan, ...] = ()
    symbols: tuple[int, ...] = ()
    """cpp: passed after the tensors."""
    symbol_names: tuple[str, ...] = ()
    """Their names in a launch plan."""
    keywords: dict[str, int] = field(default_factory=dict)
    """pytorch: the symbols that the reference names, passed by name."""

    @property
    def tensors(self) -> list[TensorPlan]:
        """All tensors, in the order in which they lie in the arena."""
        plans = [plan for plan in self.inputs if isinstance(plan, TensorPlan)]
        return [*plans, *self.parameters, *self.outputs]

    @property
    def named_tensors(self) -> list[TensorPlan]:
        """The same under the names that device code uses: a state_dict's dotted names are no identifiers."""
        plans = [plan for plan in self.inputs if isinstance(plan, TensorPlan)]
        parameters = [replace(plan, name=f"parameter{number}") for number, plan in enumerate(self.parameters)]
        return [*plans, *parameters, *self.outputs]


@dataclass(frozen=True)
class Drawn:
    """One set of inputs with what is right for it."""

    inputs: tuple[torch.Tensor, ...]
    """The tensor inputs, in order."""
    expected: tuple[torch.Tensor, ...]
    """float64, or exact integers."""


Parameters = tuple[torch.Tensor, ...]


class Problem(Protocol):
    """The two forms of a task behind one face."""

    def shapes(self, generator: torch.Generator, fits: Callable[[Shape], bool] | None = None) -> list[Shape]:
        """The timed shapes, then hidden ones drawn with `generator`.

        Args:
            fits: what this host can run; hidden shapes are drawn smaller until they fit, where the task allows it.
        """
        ...

    def cases(self, shape: Shape) -> Sequence[str]:
        """The data distributions to check at a shape."""
        ...

    def signature(self, shape: Shape) -> Signature: ...

    def draw_parameters(self) -> Parameters:
        """The model's parameters and buffers, randomised after construction."""
        ...

    def draw(self, shape: Shape, case: str, parameters: Parameters) -> Drawn: ...

    def native(self, shape: Shape, drawn: Drawn, parameters: Parameters) -> tuple[torch.Tensor, ...]:
        """The reference in the declared dtypes: what torch itself makes of these inputs."""
        ...

    @property
    def init_inputs(self) -> list[Any]:
        """The arguments of `ModelNew`."""
        ...

    @property
    def construction_seed(self) -> int: ...


def open_problem(task: Task, device: DeviceKind) -> Problem:
    """Load a task's reference; `device` is where its tensors live and the reference is computed.

    Raises:
        ConfigError: the reference does not run.
    """
    if isinstance(task.reference, KernelBenchReference):
        return KernelBenchProblem(task.reference, device)
    return FunctionProblem(task, task.reference, device)


class FunctionProblem:
    """A task file: a function, declared tensors, symbols with domains."""

    def __init__(self, task: Task, reference: FunctionReference, device: DeviceKind) -> None:
        self._task = task
        self._data = torch.Generator(device)
        self._path = reference.path
        self.init_inputs: list[Any] = []
        self.construction_seed = 0
        module = load_module(reference.path, reference.source)
        self._function = module[reference.function]
        code = getattr(self._function, "__code__", None)
        accepted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
        self._symbol_names = [name for name in task.symbols if name in accepted]

    def shapes(self, generator: torch.Generator, fits: Callable[[Shape], bool] | None = None) -> list[Shape]:
        timed = [Shape(self._resolve(shape), hidden=False) for shape in self._task.shapes]
        hidden = self._hidden(generator) if fits is None else self._small(generator, fits)
        known = [shape.symbols for shape in timed]
        limit = max(HIDDEN_BYTES, *(self._bytes(shape) for shape in timed))
        return timed + [shape for shape in hidden if shape.symbols not in known and self._bytes(shape) <= limit]

    def cases(self, shape: Shape) -> Sequence[str]:
        return CASES

    def signature(self, shape: Shape) -> Signature:
        return Signature(
            inputs=tuple(self._plan(spec, shape) for spec in self._task.inputs),
            outputs=tuple(self._plan(spec, shape) for spec in self._task.outputs),
            symbols=tuple(shape.symbols[name] for name in self._task.symbols),
            symbol_names=tuple(self._task.symbols),
            keywords={name: shape.symbols[name] for name in self._symbol_names},
        )

    def draw_parameters(self) -> Parameters:
        return ()

    def draw(self, shape: Shape, case: str, parameters: Parameters) -> Drawn:
        reseed(self._data)
        inputs = tuple(draw(case, spec, self._extents(spec, shape), self._data) for spec in self._task.inputs)
        return Drawn(inputs, self._call(shape, tuple(_widened(value) for value in inputs)))

    def native(self, shape: Shape, drawn: Drawn, parameters: Parameters) -> tuple[torch.Tensor, ...]:
        return self._call(shape, tuple(value.clone() for value in drawn.inputs))

    def _call(self, shape: Shape, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        signature = self.signature(shape)
        outputs = as_tuple(run_reference(self._path, lambda: self._function(*inputs, **signature.keywords)))
        shapes = [tuple(output.shape) for output in outputs]
        declared = [plan.shape for plan in signature.outputs]
        if shapes != declared:
            found = f"the reference gives shapes {shapes} for {shape.symbols}"
            raise ConfigError(f"{self._path}: {found}, the task declares {declared}")
        return outputs

    def _plan(self, spec: TensorSpec | InputSpec, shape: Shape) -> TensorPlan:
        return TensorPlan(spec.name, spec.dtype, self._extents(spec, shape))

    def _extents(self, spec: TensorSpec, shape: Shape) -> tuple[int, ...]:
        extents = tuple(parse(extent).evaluate(shape.symbols) for extent in spec.shape)
        if min(extents, default=1) < 1:
            raise ConfigError(
                f"task {self._task.name}: {spec.name} has shape {list(extents)} with {shape.symbols}, which the "
                "symbols' domains allow; an extent is at least 1: raise a symbol's min"
            )
        return extents

    def _bytes(self, shape: Shape) -> int:
        return required_bytes(self.signature(shape).tensors)

    def _resolve(self, values: dict[str, int]) -> dict[str, int]:
        definitions = {name: text for name, text in self._task.symbols.items() if isinstance(text, str)}
        try:
            resolved = resolve(definitions, values)
        except ExpressionError as error:
            raise ConfigError(f"task {self._task.name}: {error}") from None
        return {name: resolved[name] for name in self._task.symbols}

    @property
    def _domains(self) -> dict[str, SymbolDomain]:
        return {name: domain for name, domain in self._task.symbols.items() if isinstance(domain, SymbolDomain)}

    def _hidden(self, generator: torch.Generator) -> list[Shape]:
        """The smallest shape, and ragged ones: extents that the candidate could not have been written for.

        One lies between the smallest and a timed shape: code for large shapes has tails of its own.
        """
        if not self._domains:
            return []
        smallest = {name: round_up(domain.min, domain.multiple_of) for name, domain in self._domains.items()}
        drawn = [
            {name: draw_extent(domain, generator) for name, domain in self._domains.items()}
            for _ in range(HIDDEN_SHAPES - 2)
        ]
        timed = self._task.shapes[int(torch.randint(len(self._task.shapes), (1,), generator=generator))]
        large = {name: draw_extent(domain, generator, timed[name]) for name, domain in self._domains.items()}
        return [Shape(self._resolve(symbols), hidden=True) for symbols in (smallest, *drawn, large)]

    def _small(self, generator: torch.Generator, fits: Callable[[Shape], bool]) -> list[Shape]:
        """The hidden shapes, and the timed ones with as few extents made smaller as it takes."""
        large = [*(shape.symbols for shape in self._hidden(generator)), *self._task.shapes]
        drawn: list[Shape] = []
        for symbols in large:
            for smaller in smaller_symbols(symbols, self._domains, generator):
                shape = Shape(self._resolve(smaller), hidden=True)
                if fits(shape):
                    if shape not in drawn:
                        drawn.append(shape)
                    break
        return drawn


class KernelBenchProblem:
    """A KernelBench file: `Model`, `get_inputs`, `get_init_inputs`; one shape, parameters randomised."""

    def __init__(self, reference: KernelBenchReference, device: DeviceKind) -> None:
        self._path = reference.path
        self._device = torch.device(device)
        self._data = torch.Generator(device)
        self._module = load_module(reference.path, reference.source)
        self.construction_seed = secrets.randbits(31)
        self.init_inputs = list(run_reference(self._path, self._module["get_init_inputs"]))
        self._sample = self._get_inputs()
        self._model = self._construct()
        self._double = self._construct().double()
        outputs = as_tuple(run_reference(self._path, lambda: self._model(*self._sample)))
        self._outputs = tuple(
            TensorPlan(f"output{position}", DTYPE_NAMES[output.dtype], tuple(output.shape))
            for position, output in enumerate(outputs)
        )

    def shapes(self, generator: torch.Generator, fits: Callable[[Shape], bool] | None = None) -> list[Shape]:
        return [Shape({}, hidden=False)]

    def cases(self, shape: Shape) -> Sequence[str]:
        return CASES

    def signature(self, shape: Shape) -> Signature:
        inputs = tuple(
            TensorPlan(f"input{position}", DTYPE_NAMES[value.dtype], tuple(value.shape))
            if isinstance(value, torch.Tensor)
            else value
            for position, value in enumerate(self._sample)
        )
        parameters = tuple(
            TensorPlan(name, DTYPE_NAMES[tensor.dtype], tuple(tensor.shape))
            for name, tensor in self._model.state_dict().items()
        )
        symbols = tuple(value for value in self.init_inputs if isinstance(value, int) and not isinstance(value, bool))
        names = tuple(f"symbol{position}" for position in range(len(symbols)))
        return Signature(inputs, self._outputs, parameters, symbols, names)

    def draw_parameters(self) -> Parameters:
        reseed(self._data)
        return tuple(_randomised(tensor, self._data) for tensor in self._model.state_dict().values())

    def draw(self, shape: Shape, case: str, parameters: Parameters) -> Drawn:
        reseed(self._data)
        values = self._get_inputs()
        if case != DECLARED:
            values = [self._redraw(case, value) for value in values]
        expected = self._forward(self._double, parameters, [_widened(value) for value in values])
        inputs = tuple(value for value in values if isinstance(value, torch.Tensor))
        return Drawn(inputs, expected)

    def native(self, shape: Shape, drawn: Drawn, parameters: Parameters) -> tuple[torch.Tensor, ...]:
        tensors = iter(drawn.inputs)
        values = [next(tensors) if isinstance(value, torch.Tensor) else value for value in self._sample]
        return self._forward(self._model, parameters, [_copied(value) for value in values])

    def _forward(self, model: Any, parameters: Parameters, values: list[Any]) -> tuple[torch.Tensor, ...]:
        for target, value in zip(model.state_dict().values(), parameters, strict=True):
            target.copy_(value)
        return as_tuple(run_reference(self._path, lambda: model(*values)))

    def _construct(self) -> Any:
        torch.manual_seed(self.construction_seed)
        return run_reference(self._path, lambda: self._module["Model"](*self.init_inputs).to(self._device))

    def _get_inputs(self) -> list[Any]:
        """The problem's own draw, under a seed that nobody else knows."""
        torch.manual_seed(secrets.randbits(62))
        with self._device:
            values = list(run_reference(self._path, self._module["get_inputs"]))
        return [value.to(self._device) if isinstance(value, torch.Tensor) else value for value in values]

    def _redraw(self, case: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return wide(case, tuple(value.shape), self._data).to(value.dtype)


def load_module(path: str, source: str) -> dict[str, Any]:
    """Execute a task's own Python file (trusted: it came with the task).

    Raises:
        ConfigError: it raises, or needs a package that is missing.
    """
    module = types.ModuleType("kernelguild_reference")
    sys.modules[module.__name__] = module
    run_reference(path, lambda: exec(compile(source, path, "exec"), module.__dict__))
    return module.__dict__


def run_reference(path: str, body: Any) -> Any:
    """Run the task's own code without gradients; whatever it raises is the task's fault."""
    try:
        with torch.no_grad():
            return body()
    except Exception as error:  # the reference may raise anything; it is reported with its type
        raise ConfigError(f"{path}: the reference failed: {type(error).__name__}: {error}") from error


def as_tuple(result: Any) -> tuple[torch.Tensor, ...]:
    """What a reference returned, as a tuple of outputs."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    return value


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _randomised(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Parameters away from ones and zeros, near their size; variances stay positive."""
    if not tensor.is_floating_point():
        return tensor.clone()
    noise, shift = (torch.rand(tensor.shape, generator=generator, device=generator.device) for _ in range(2))
    return (tensor * (0.75 + 0.5 * noise) + 0.05 * shift).to(tensor.dtype)
