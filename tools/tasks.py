"""From a task file or a KernelBench problem to a task, with every file read and every symbol resolved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from ..memory.errors import ConfigError, ExpressionError, InputError, NotFoundError
from ..memory.expressions import parse, resolve
from ..memory.python_syntax import parse_module
from ..memory.schema import (
    DTYPE_BYTES,
    Candidate,
    DeviceKind,
    FunctionReference,
    KernelBenchReference,
    Language,
    SymbolDomain,
    Task,
    Template,
    Tolerance,
)
from ..memory.yaml_file import line_in, load_yaml
from .candidates import candidate_from_source, read_source
from .judge.device import has_gpu
from .judge.languages import ALLOWED_COMPILER_FLAGS
from .task_file import TaskFile

KERNELBENCH_PREFIX = "kernelbench:"
KERNELBENCH_CPU_PREFIX = "kernelbench-cpu:"
"""Keeps a problem on the processor of a host that has a GPU."""
KERNELBENCH_NAMES = ("Model", "get_inputs", "get_init_inputs")
MAX_TENSOR_BYTES = 1 << 30
# Rounding of the least precise output, times a few dozen accumulated operations.
TOLERANCE_OF = {
    "float16": Tolerance(relative=2e-3, rms=2e-3),
    # Inputs rounded to 10 bits, as float16 has.
    "tf32": Tolerance(relative=2e-3, rms=2e-3),
    "bfloat16": Tolerance(relative=1.6e-2, rms=1.6e-2),
    "float64": Tolerance(relative=1e-9, rms=1e-9),
}


def load_task(spec: str | Path) -> Task:
    """Load `path/task.yaml`, a folder that holds one, `kernelbench:PATH` or `kernelbench-cpu:PATH`.

    Raises:
        NotFoundError: a file does not exist.
        ConfigError: the file is wrong; the message names file, line, key and what is allowed.
    """
    text = str(spec)
    if text.startswith(KERNELBENCH_CPU_PREFIX):
        return _load_kernelbench(Path(text.removeprefix(KERNELBENCH_CPU_PREFIX)), "cpu")
    if text.startswith(KERNELBENCH_PREFIX):
        device: DeviceKind = "cuda" if has_gpu() else "cpu"
        return _load_kernelbench(Path(text.removeprefix(KERNELBENCH_PREFIX)), device)
    path = Path(text)
    if path.suffix == ".py":
        raise ConfigError(f"{path}: a Python file is a task as {KERNELBENCH_PREFIX}{path}")
    if path.is_dir():
        path = path / "task.yaml"
    return _task(load_yaml(path, TaskFile), path)


def _task(file: TaskFile, path: Path) -> Task:
    for problem in _problems(file):
        raise ConfigError(f"{path}:{_line(path, problem[0])}: {problem[0]}: {problem[1]}")
    reference = file.reference
    reference_source = _beside(path, reference.file, "reference.file")
    if reference.function not in _defined_names(reference_source, reference.file):
        where = f"{path}:{_line(path, 'reference')}: reference.function"
        raise ConfigError(f"{where}: {reference.file} defines no {reference.function!r}")
    try:
        return Task(
            name=file.name,
            description=file.description,
            reference=FunctionReference(
                path=file.reference.file, source=reference_source, function=file.reference.function
            ),
            device=file.device,
            entry=file.entry,
            seed=_seed(file, path),
            baseline=file.baseline,
            symbols=file.symbols,
            inputs=file.inputs,
            outputs=file.outputs,
            shapes=file.shapes,
            tolerance=file.tolerance or _default_tolerance(file),
            constraints=file.constraints,
            flops=None if file.flops is None else str(file.flops),
            traffic_bytes=None if file.traffic_bytes is None else str(file.traffic_bytes),
            template=_template(file, path),
        )
    except ValidationError as error:
        detail = error.errors()[0]
        raise ConfigError(f"{path}:1: {'.'.join(map(str, detail['loc']))}: {detail['msg']}") from None


def _seed(file: TaskFile, path: Path) -> Candidate:
    source = _beside(path, file.seed_implementation.file, "seed_implementation.file")
    return candidate_from_source(source, file.seed_implementation.language, name=file.seed_implementation.file)


def _template(file: TaskFile, path: Path) -> Template | None:
    if file.template is None:
        return None
    source = _beside(path, file.template.file, "template.file")
    return Template(
        language=file.template.language, path=file.template.file, source=source, strategies=file.template.strategies
    )


def _beside(task_path: Path, name: str, key: str) -> str:
    """The text of a file in the task's folder; a task never reaches outside it."""
    folder = task_path.parent.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise ConfigError(f"{task_path}:{_line(task_path, key)}: {key}: {name!r} lies outside the task's folder")
    try:
        return read_source(path)
    except InputError as error:
        raise ConfigError(f"{task_path}:{_line(task_path, key)}: {key}: {error}") from None


def _default_tolerance(file: TaskFile) -> Tolerance:
    coarsest = min(file.outputs, key=lambda output: (DTYPE_BYTES[output.dtype], output.dtype == "float16"))
    precision = "tf32" if coarsest.dtype == "float32" and file.constraints.allow_tf32 else coarsest.dtype
    return TOLERANCE_OF.get(precision, Tolerance())


def _problems(file: TaskFile) -> Iterator[tuple[str, str]]:
    """What the record's types cannot see: (key, message)."""
    names = [*file.symbols, *(tensor.name for tensor in (*file.inputs, *file.outputs))]
    for name in names:
        if names.count(name) > 1:
            yield "inputs", f"the name {name!r} is used twice (symbols, inputs and outputs share one namespace)"
    for flag in file.constraints.compiler_flags:
        if flag not in ALLOWED_COMPILER_FLAGS:
            yield (
                "constraints.compiler_flags",
                f"{flag!r} is not allowed (allowed: {', '.join(sorted(ALLOWED_COMPILER_FLAGS))})",
            )
    free = {name: domain for name, domain in file.symbols.items() if isinstance(domain, SymbolDomain)}
    derived = {name: text for name, text in file.symbols.items() if isinstance(text, str)}
    for index, shape in enumerate(file.shapes):
        yield from _shape_problems(file, free, derived, index, shape)


def _shape_problems(
    file: TaskFile, free: dict[str, SymbolDomain], derived: dict[str, str], index: int, shape: dict[str, int]
) -> Iterator[tuple[str, str]]:
    where = f"shapes.{index}"
    for name in shape.keys() - free.keys():
        yield where, f"unknown symbol {name!r} (symbols with a domain: {', '.join(free) or 'none'})"
    for name in free.keys() - shape.keys():
        yield where, f"no value for symbol {name!r}"
    for name in free.keys() & shape.keys():
        domain = free[name]
        if not domain.min <= shape[name] <= domain.max or shape[name] % domain.multiple_of:
            multiple = f", multiple of {domain.multiple_of}" if domain.multiple_of > 1 else ""
            allowed = f"{domain.min}..{domain.max}{multiple}"
            yield where, f"{name} = {shape[name]} is outside its domain {allowed}"
    try:
        values = resolve(derived, shape)
    except ExpressionError as error:
        yield "symbols", str(error)
        return
    for group in ("inputs", "outputs"):
        for position, tensor in enumerate(getattr(file, group)):
            yield from _tensor_problems(f"{group}.{position}", tensor.shape, DTYPE_BYTES[tensor.dtype], values)
    for key in ("flops", "traffic_bytes"):
        text = getattr(file, key)
        if text is not None:
            try:
                parse(text).evaluate(values)
            except ExpressionError as error:
                yield key, str(error)


def _tensor_problems(
    key: str, shape: tuple[int | str, ...], item_bytes: int, values: dict[str, int]
) -> Iterator[tuple[str, str]]:
    size = item_bytes
    for extent in shape:
        try:
            value = parse(extent).evaluate(values)
        except ExpressionError as error:
            yield f"{key}.shape", str(error)
            return
        if value < 1:
            yield f"{key}.shape", f"{extent!r} is {value} with {values}; an extent is at least 1"
            return
        size *= value
    if size > MAX_TENSOR_BYTES:
        yield f"{key}.shape", f"{size} bytes with {values}; a tensor may have {MAX_TENSOR_BYTES}"


def _line(path: Path, key: str) -> int:
    """The line of a dotted key such as `shapes.0`, for messages."""
    return line_in(path, tuple(int(part) if part.isdigit() else part for part in key.split(".")))


def _defined_names(source: str, name: str) -> set[str]:
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 1) or 1
        raise ConfigError(f"{name}:{line}: not valid Python: {getattr(error, 'msg', error)}") from None
    defined: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            defined.update(alias.asname or alias.name for alias in node.names)
    return defined


def _load_kernelbench(path: Path, device: DeviceKind) -> Task:
    """A KernelBench problem: the seed and the baseline are its own `Model`."""
    if path.suffix != ".py":
        raise NotFoundError(f"{KERNELBENCH_PREFIX}{path}: a KernelBench problem is a .py file")
    source = read_source(path)
    missing = [name for name in KERNELBENCH_NAMES if name not in _defined_names(source, str(path))]
    if missing:
        raise ConfigError(
            f"{path}:1: defines no {missing[0]!r}; a KernelBench problem needs {', '.join(KERNELBENCH_NAMES)}"
        )
    seed = candidate_from_source(
        f"{source.rstrip()}\n\n\nclass ModelNew(Model):\n    pass\n", Language.PYTORCH, name=str(path)
    )
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem if path.stem != "problem" else path.resolve().parent.name)
    return Task(
        name=name.lstrip("_.-")[:100] or "kernelbench",
        description=f"KernelBench problem {path.name}",
        device=device,
        reference=KernelBenchReference(path=path.name, source=source),
        entry="forward",
        seed=seed,
    )
