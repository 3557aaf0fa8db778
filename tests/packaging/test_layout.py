"""One package whose floors lie open at the root."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from kernelguild.memory import schema
from kernelguild.memory.schema import Record
from repository import FLOORS, ROOT

EXPORTS = {"server/commands": {"COMMANDS", "Command"}, "server/report": {"report_html"}}
"""All but the records; a package that is not listed exports nothing."""


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_is_reached_through_a_relative_link(floor: str) -> None:
    link = ROOT / "src" / "kernelguild" / floor
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / floor
    assert (link / "__init__.py").is_file()


def test_packages_export_exactly_what_is_listed() -> None:
    found = {
        str(path.parent.relative_to(ROOT)): _names_bound_in(path)
        for floor in FLOORS
        for path in (ROOT / floor).rglob("__init__.py")
    }
    found["."] = _names_bound_in(ROOT / "src" / "kernelguild" / "__init__.py")
    del found["memory/schema"]  # the next test's
    assert {package: names for package, names in found.items() if names} == EXPORTS


def test_the_public_records_are_exactly_those_that_the_schema_defines() -> None:
    modules = {path.stem for path in (ROOT / "memory" / "schema").glob("*.py")} - {"__init__"}
    defined = {
        name
        for module in modules
        for name, value in vars(importlib.import_module(f"kernelguild.memory.schema.{module}")).items()
        if isinstance(value, type) and issubclass(value, Record) and not name.startswith("_")
    }
    assert defined <= set(schema.__all__)
    assert len(set(schema.__all__)) == len(schema.__all__)
    assert _names_bound_in(Path(schema.__file__)) == set(schema.__all__)


def _names_bound_in(package: Path) -> set[str]:
    """What a package's file defines or takes from the modules beside it."""
    names: set[str] = set()
    for statement in ast.parse(package.read_text(encoding="utf-8")).body:
        match statement:
            case ast.ImportFrom(module=str(), names=aliases, level=1):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Assign(targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(name)) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
    return names - {"__all__"}
