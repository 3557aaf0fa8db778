"""A task as an implementer reads it: what to compute, the signature that the judge calls, and the limits."""

from __future__ import annotations

from collections.abc import Sequence

from ..memory.schema import FunctionReference, KernelBenchReference, SymbolDomain, Task, TensorSpec
from .untrusted import clean, fence

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "_Float16",
    "bfloat16": "uint16_t",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
MAX_SOURCE_CHARS_SHOWN = 8_000


def task_markdown(task: Task) -> str:
    """The whole contract of a task, as Markdown."""
    parts = [
        f"# Task {task.name}",
        f"id `{task.id}`, seed in language `{task.seed.language.value}`, baseline: {task.baseline}",
        clean(task.description),
        *_device_contracts(task),
        "## A candidate in language pytorch",
        _pytorch_contract(task),
        *_tensors(task),
        "## Limits",
        _limits(task),
        f"## Reference ({clean(task.reference.path)})",
        _source(task.reference.source, "python"),
        "## Seed implementation",
        _source(task.seed.source, task.seed.language.value),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def task_list_markdown(tasks: Sequence[Task]) -> str:
    """The stored tasks, one line each."""
    if not tasks:
        return "No task is stored yet: call compile, verify or profile with the path of a task file.\n"
    lines = [f"- `{task.name}` task://{task.id}: {clean(task.description)[:160]}" for task in tasks]
    return "\n".join(["# Stored tasks", *lines]) + "\n"


def c_signature(task: Task) -> str:
    """The function that a cpp candidate exports; C has no way to say the shapes, so they stand as comments."""
    arguments = [
        *(f"const {C_TYPES[tensor.dtype]}* {tensor.name} {_extents(tensor)}" for tensor in task.inputs),
        *(f"{C_TYPES[tensor.dtype]}* {tensor.name} {_extents(tensor)}" for tensor in task.outputs),
        *(f"int64_t {symbol}" for symbol in task.symbols),
    ]
    return f'extern "C" int {task.entry}({", ".join(arguments)});'


def _cpp_contract(task: Task) -> str:
    rules = "Return 0 when done. Buffers are contiguous and 64-byte aligned; write straight into the outputs."
    if isinstance(task.reference, KernelBenchReference):
        return (
            f'`extern "C" int {task.entry}(inputs..., outputs..., symbols...)`: const pointers to what get_inputs() '
            "returns, then to the state_dict's tensors in their order; pointers to what forward returns; then the "
            f"integers of get_init_inputs() as int64_t. {rules}"
        )
    return f"{fence(c_signature(task), 'cpp')}\n{rules}"


def _device_contracts(task: Task) -> list[str]:
    """C++ for the processor; kernels without host code for a GPU."""
    if task.device == "cpu":
        return ["## A candidate in language cpp", _cpp_contract(task)]
    return ["## A candidate in language cuda or triton", _launch_plan_contract(task)]


def _launch_plan_contract(task: Task) -> str:
    if isinstance(task.reference, KernelBenchReference):
        names = (
            "input0, input1, ... (what get_inputs() returns), parameter0, ... (the state_dict in its order), output0, "
            "..., symbol0, ... (the integers of get_init_inputs())"
        )
    else:
        names = ", ".join([*(tensor.name for tensor in (*task.inputs, *task.outputs)), *task.symbols])
    return f"""One file of kernels, no host code. Its leading comment (CUDA: `/* */`, Triton: `#` lines or the
docstring) is the launch plan, YAML:

```yaml
kernelguild:
  scratch: [{{name: partial, dtype: float32, shape: [1024], zeroed: true}}]   # optional device memory for one call
  steps:                       # launched in this order
    - kernel: my_kernel
      grid: ["cdiv(1000, 4)"]  # expressions over symbols and device.sm_count: + - * // %, comparisons, min, max,
                               # cdiv, next_power_of_2; inside [...] quote one that holds a comma
      block: [256]             # cuda; also shared_bytes (dynamic), cluster
      arguments: [{names.split(",")[0].strip()}, 1000]  # default: inputs, parameters, outputs, scratch, symbols
      when: 1                  # optional condition: the step is left out where it is 0
      constants: {{BLOCK: 1024}} # triton: the tl.constexpr parameters; also num_warps, num_stages
```

Names: {names}. Tensors are contiguous, 256-byte aligned; cuda also has `tensor_maps` (name, tensor, box, swizzle) for
TMA, passed as `const __grid_constant__ CUtensorMap`. Outputs and scratch hold garbage before each call."""


def _pytorch_contract(task: Task) -> str:
    if isinstance(task.reference, FunctionReference):
        call = ", ".join(tensor.name for tensor in task.inputs)
        return f"A class `ModelNew(torch.nn.Module)` whose `forward({call})` returns the outputs in their order."
    return "A class `ModelNew(torch.nn.Module)` with the constructor and the forward of the reference's `Model`."


def _tensors(task: Task) -> list[str]:
    if not task.inputs:
        return []
    rows = [
        *(f"- input {t.name}: {t.dtype} {_extents(t)}, {t.distribution.value} values" for t in task.inputs),
        *(f"- output {t.name}: {t.dtype} {_extents(t)}" for t in task.outputs),
        *(f"- symbol {name}: {_domain(domain)}" for name, domain in task.symbols.items()),
        *(f"- timed shape: {', '.join(f'{name}={value}' for name, value in s.items())}" for s in task.shapes),
    ]
    return ["## Tensors, symbols and shapes", "\n".join(rows), "The judge also checks shapes that it does not name."]


def _limits(task: Task) -> str:
    limits, tolerance = task.constraints, task.tolerance
    where = "on a GPU" if task.device == "cuda" else f"{limits.threads} thread(s)"
    return (
        f"{where}; compile {limits.compile_timeout_s:g} s, one call {limits.call_timeout_s:g} s, "
        f"memory {limits.memory_bytes >> 20} MiB; an output passes where |y - ref| <= {tolerance.relative:g} * |ref| + "
        f"{tolerance.rms:g} * rms(ref)."
    )


def _domain(domain: SymbolDomain | str) -> str:
    if isinstance(domain, str):
        return f"= {domain}"
    step = f", multiple of {domain.multiple_of}" if domain.multiple_of > 1 else ""
    return f"{domain.min}..{domain.max}{step}"


def _extents(tensor: TensorSpec) -> str:
    return f"/* {' x '.join(map(str, tensor.shape)) or 'scalar'} */"


def _source(text: str, language: str) -> str:
    cleaned = clean(text)
    cut = cleaned[:MAX_SOURCE_CHARS_SHOWN]
    more = f"\n[{len(cleaned) - len(cut)} more characters]" if len(cut) < len(cleaned) else ""
    return fence(cut + more, language)
