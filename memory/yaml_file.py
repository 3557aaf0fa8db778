"""The one loader of every YAML file: what is wrong is named by file, line, key and what is allowed."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.tokens import AliasToken

from .errors import ConfigError, NotFoundError
from .regular_file import read_regular_file

MAX_YAML_BYTES = 1 << 20
MAX_ERRORS = 10
KEPT_TEXTS = 32

Model = TypeVar("Model", bound=BaseModel)
KeyPath = tuple[int | str, ...]


def load_yaml(path: Path, model: type[Model]) -> Model:
    """Read one YAML file into a record.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: it is too large, not UTF-8, no YAML, or does not fit the record.
    """
    try:
        data = read_regular_file(path, MAX_YAML_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_YAML_BYTES:
        raise ConfigError(f"{path}: a YAML file may have {MAX_YAML_BYTES} bytes, this one has more")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    return load_yaml_text(text, str(path), model)


def load_yaml_text(text: str, name: str, model: type[Model]) -> Model:
    """Read YAML text into a record; `name` stands in messages where a path would.

    Raises:
        ConfigError: it is no YAML, or does not fit the record.
    """
    loaded = _loaded(text, name, model)
    assert isinstance(loaded, model)
    return loaded


# A server is asked about the same few tasks again and again, and the pure loader takes 20 ms for one.
@lru_cache(maxsize=KEPT_TEXTS)
def _loaded(text: str, name: str, model: type[BaseModel]) -> BaseModel:
    try:
        # An alias that expands into aliases makes a small file fill the memory.
        if "*" in text and any(isinstance(token, AliasToken) for token in YAML(pure=True).scan(text)):
            raise ConfigError(f"{name}: YAML aliases (*name) are not allowed; write the value out")
        tree = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{name}:{line}: not valid YAML: {error.problem or error.context}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}:1: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(tree, CommentedMap):
        raise ConfigError(f"{name}:1: a mapping is needed (allowed keys: {_allowed(model)})")
    try:
        return model.model_validate(_plain(tree))
    except ValidationError as error:
        details = _innermost(error.errors())[:MAX_ERRORS]
        raise ConfigError("\n".join(_explain(detail, tree, name, model) for detail in details)) from None


def line_of(tree: object, location: KeyPath) -> int:
    """The 1-based line of the deepest part of `location` that exists in the parsed file."""
    line, node = 0, tree
    for part in location:
        try:
            if isinstance(node, CommentedMap) and part in node:
                line = node.lc.key(part)[0]
            elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
                line = node.lc.item(part)[0]
            else:
                continue
        except (KeyError, AttributeError, TypeError):
            break
        node = node[part]
    return line + 1


def _innermost(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without what only follows: a list is too short because one of its items is wrong."""
    deeper = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
    return [detail for detail in details if detail["loc"] not in deeper]


def line_in(path: Path, location: KeyPath) -> int:
    """The line of a key in a file that has been loaded before."""
    return line_of(YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8")), location)


def _plain(node: object) -> Any:
    """Builtin containers and scalars, so that validators see what JSON would give them."""
    if isinstance(node, CommentedMap):
        return {_plain(key): _plain(value) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        return [_plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return str(node)


def _explain(detail: ErrorDetails, tree: CommentedMap, name: str, model: type[BaseModel]) -> str:
    location = detail["loc"]
    key = ".".join(str(part) for part in location) or "(whole file)"
    where = f"{name}:{line_of(tree, location)}: {key}:"
    if detail["type"] == "extra_forbidden":
        allowed = _keys_at(model, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{where} unknown key{hint} (allowed: {', '.join(allowed) or 'none here'})"
    if detail["type"] == "missing":
        return f"{where} missing key (allowed here: {', '.join(_keys_at(model, location[:-1]))})"
    shown = repr(detail["input"])
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return f"{where} {detail['msg'].removeprefix('Value error, ')}, got {shown}"


def _allowed(model: type[BaseModel]) -> str:
    return ", ".join(_keys_at(model, ()))


def _keys_at(model: type[BaseModel], location: KeyPath) -> list[str]:
    """The keys that the record's JSON schema allows at `location`."""
    root = model.model_json_schema()
    node = root
    for part in location:
        node = _follow(root, node, part)
    return list(_inline(root, node).get("properties", {}))


def _inline(root: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    for choice in ("anyOf", "oneOf"):
        for option in node.get(choice, ()):
            inlined = _inline(root, option)
            if inlined.get("properties") or inlined.get("items") or inlined.get("additionalProperties"):
                return inlined
    return node


def _follow(root: dict[str, Any], node: dict[str, Any], part: int | str) -> dict[str, Any]:
    node = _inline(root, node)
    if isinstance(part, int):
        return dict(node.get("items", {}))
    inner = node.get("properties", {}).get(part) or node.get("additionalProperties")
    # A part that names a union's branch rather than a key stays where it is.
    return dict(inner) if isinstance(inner, dict) else node
