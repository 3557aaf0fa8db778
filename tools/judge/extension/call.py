"""One call of `load_inline`, as a record: what the candidate's worker hands to the judge. Hostile until validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator, model_validator

from ....memory.schema import Record, content_id
from ....memory.schema.base import canonical_json

MAX_CALLS = 8
MAX_SOURCE_CHARS = 1 << 20
"""All sources of one call together."""
MAX_RECORD_BYTES = MAX_CALLS * 4 * MAX_SOURCE_CHARS
MAX_FLAGS = 64

FORBIDDEN_FLAGS = (
    "@", "-fplugin", "-wrapper", "-specs", "--specs", "-B", "-o", "--output", "--options-file", "-ccbin",
    "--compiler-bindir", "-x", "-E", "-S", "-M",
)  # fmt: skip
"""Prefixes of what would make another program than the compiler run, or another file than the library come out."""
FORBIDDEN_LINKER_WORDS = ("@", "-plugin", "--plugin", "-o", "-T")
"""After `-Wl,`: the same for the linker."""

Source = Annotated[str, Field(max_length=MAX_SOURCE_CHARS)]
Flag = Annotated[str, Field(max_length=300)]
Flags = Annotated[tuple[Flag, ...], Field(max_length=MAX_FLAGS)]
FunctionName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_:]*$", max_length=200)]


class InlineCall(Record):
    """The arguments of one `load_inline` that decide what is built; wishes such as `verbose` are left out."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)
    cpp_sources: Annotated[tuple[Source, ...], Field(max_length=64)]
    cuda_sources: Annotated[tuple[Source, ...], Field(max_length=64)] = ()
    functions: Annotated[dict[FunctionName, Annotated[str, Field(max_length=2000)]], Field(max_length=256)] | None = (
        None
    )
    """Function -> its docstring; None where the sources bind for themselves."""
    extra_cflags: Flags = ()
    extra_cuda_cflags: Flags = ()
    extra_ldflags: Flags = ()
    extra_include_paths: Flags = ()
    with_cuda: bool | None = None
    is_python_module: bool = True
    with_pytorch_error_handling: bool = True
    no_implicit_headers: bool = False

    @property
    def digest(self) -> str:
        """The hash of everything that the library depends on, toolchain apart."""
        return content_id(canonical_json(self))

    @property
    def needs_cuda(self) -> bool:
        return bool(self.cuda_sources) if self.with_cuda is None else self.with_cuda

    @field_validator("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
    @classmethod
    def _flags_are_harmless(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        for flag in flags:
            for word in flag.split():
                if word.startswith(FORBIDDEN_FLAGS):
                    raise ValueError(f"the flag {word!r} is not allowed")
                if word.startswith(("-Wl,", "-Xlinker")) and any(
                    part.startswith(FORBIDDEN_LINKER_WORDS) for part in word.split(",")[1:]
                ):
                    raise ValueError(f"the linker flag {word!r} is not allowed")
            if not flag.isprintable():
                raise ValueError(f"the flag {flag!r} has a control character")
        return flags

    @field_validator("extra_include_paths")
    @classmethod
    def _includes_are_the_systems(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if ".." in path.split("/") or not path.startswith(("/usr/", "/opt/")):
                raise ValueError(
                    f"extra_include_paths: {path!r} is not the system's; a candidate is one file, so put it into "
                    "cpp_sources"
                )
        return paths

    @model_validator(mode="after")
    def _sources_are_text_of_bounded_size(self) -> InlineCall:
        sources = (*self.cpp_sources, *self.cuda_sources)
        if not sources:
            raise ValueError("no sources")
        if sum(map(len, sources)) > MAX_SOURCE_CHARS:
            raise ValueError(f"the sources have more than {MAX_SOURCE_CHARS} characters")
        if any("\0" in source for source in sources):
            raise ValueError("a source holds a zero byte")
        return self


class Recording(Record):
    """What a worker wanted while it loaded the candidate."""

    calls: Annotated[tuple[InlineCall, ...], Field(max_length=MAX_CALLS)] = ()
    """In the order of the calls; what is built already is left out."""
    refused: Annotated[str, Field(max_length=1000)] = ""
    """Why loading ended at a call that no compiler is asked about."""


class RefusedCallError(ValueError):
    """A call that no compiler is asked about; the text says which argument and why."""


def read_calls(data: bytes) -> tuple[InlineCall, ...]:
    """The calls that a worker wrote down.

    Raises:
        RefusedCallError: it refused one itself, or wrote what the judge's own recorder does not write.
    """
    try:
        recording = Recording.model_validate_json(data)
    except ValidationError as error:
        raise RefusedCallError(_first(error)) from None
    if recording.refused or not recording.calls:
        raise RefusedCallError(recording.refused or "load_inline: nothing was recorded")
    return recording.calls


def call_of(arguments: Mapping[str, Any]) -> InlineCall:
    """The record of a call from its arguments by name, as torch documents them.

    Raises:
        RefusedCallError: an argument is not supported or not allowed.
    """
    if arguments.get("sycl_sources") or arguments.get("with_sycl"):
        raise RefusedCallError("sycl_sources: SYCL is not supported; use cpp_sources or cuda_sources")
    functions = arguments.get("functions")
    if isinstance(functions, str):
        functions = [functions]
    if isinstance(functions, list | tuple):
        functions = {name: name for name in functions}
    given = {name: value for name, value in arguments.items() if name in InlineCall.model_fields and value is not None}
    for name in ("cpp_sources", "cuda_sources"):
        given[name] = _listed(given.get(name))
    for name in ("extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths"):
        given[name] = tuple(str(flag) for flag in given.get(name, ()))
    try:
        return InlineCall.model_validate({**given, "functions": functions})
    except ValidationError as error:
        raise RefusedCallError(_first(error)) from None


def _listed(sources: Any) -> tuple[Any, ...]:
    if isinstance(sources, str):
        return (sources,)
    return tuple(sources or ())


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, detail["loc"]))
    message = detail["msg"].removeprefix("Value error, ")
    return f"load_inline: {where}: {message}" if where else f"load_inline: {message}"
