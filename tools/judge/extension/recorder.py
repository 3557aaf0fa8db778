"""In the candidate's worker: what stands in the place of `load_inline`.

Nothing here is believed: what it writes is text that the judge validates, and that then goes to a confined compiler.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from .call import MAX_CALLS, InlineCall, Recording, RefusedCallError, call_of

RECORD_NAME = "extension_calls.json"
"""In the worker's scratch folder."""
MODULE_WORD = "cpp_extension"
"""A file without this word asks for no extension, unless it hides that, and then it gets torch's own slow way."""


class NotBuiltYetError(RuntimeError):
    """An extension was used that the judge has still to build; the worker ends and a later one has it."""


class Recorder:
    """Answers `load_inline` with what the judge has built, and records what it has not."""

    def __init__(self, libraries: Path, wrap: Callable[[Any], Any] | None = None) -> None:
        """
        Args:
            libraries: holds a folder for each extension that is built, named by its call's digest.
            wrap: applied to each module that is handed to the candidate.
        """
        self._pending: list[InlineCall] = []
        self._libraries = libraries
        self._wrap = wrap
        self._loading = True

    def install(self) -> None:
        """Take the place of torch's functions, before the candidate's file is executed."""
        cpp_extension: Any = import_module("torch.utils.cpp_extension")  # not for workers that never ask for it

        self._signature = inspect.signature(cpp_extension.load_inline)
        self._import = cpp_extension._import_module_from_library  # noqa: SLF001  what load_inline itself ends with
        cpp_extension.load_inline = self._load_inline
        cpp_extension.load = _refuse_load

    @contextmanager
    def loading(self, scratch: Path, give_up: Callable[[str], NoReturn]) -> Iterator[None]:
        """Around loading the candidate: where extensions are missing, write down which, and give up."""
        refused = ""
        try:
            yield
        except BaseException as error:
            if not self._pending and not isinstance(error, RefusedCallError):
                raise
            refused = str(error) if isinstance(error, RefusedCallError) else ""
        if self._pending or refused:
            recording = Recording(calls=tuple(self._pending), refused=refused[:1000])
            (scratch / RECORD_NAME).write_text(recording.model_dump_json(), encoding="utf-8")
            give_up("extensions are to be built")
        self._loading = False

    def _load_inline(self, *args: Any, **kwargs: Any) -> Any:
        call = call_of(self._signature.bind(*args, **kwargs).arguments)
        folder = self._libraries / call.digest
        if folder.is_dir():
            module: Any = self._import(call.name, str(folder), call.is_python_module)
            return self._wrap(module) if self._wrap else module
        if not self._loading:
            raise RefusedCallError(
                f"load_inline: {call.name!r} is asked for during a call; ask while the file is loaded or ModelNew is "
                "constructed, so that building is not timed"
            )
        if call not in self._pending:
            if len(self._pending) == MAX_CALLS:
                raise RefusedCallError(f"load_inline: at most {MAX_CALLS} extensions in one file")
            self._pending.append(call)
        return _NotBuiltYet(call.name)


class _NotBuiltYet:
    """Lets the candidate's file go on to its next `load_inline`."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return _FunctionToCome(attribute)


class _FunctionToCome:
    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotBuiltYetError(f"{self.__name__} was called before the judge has built it")


def _refuse_load(*args: Any, **kwargs: Any) -> NoReturn:
    raise RefusedCallError(
        "torch.utils.cpp_extension.load: a candidate is one file, so there are no files to build; hand the sources to "
        "load_inline as strings"
    )
