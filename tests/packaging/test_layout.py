"""One package whose floors lie open at the root."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from kernelguild.memory import schema
from kernelguild.memory.schema import Record
from repository import FLOORS, ROOT


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_is_reached_through_a_relative_link(floor: str) -> None:
    link = ROOT / "src" / "kernelguild" / floor
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / floor
    assert (link / "__init__.py").is_file()


def test_packages_export_nothing_but_records_and_commands() -> None:
    packages = [path.parent for floor in FLOORS for path in (ROOT / floor).rglob("__init__.py")]
    exports = {str(package.relative_to(ROOT)): _names_bound_in(package / "__init__.py") for package in packages}
    assert {package for package, names in exports.items() if names} == {"memory/schema", "server/commands"}
    assert _names_bound_in(ROOT / "src" / "kernelguild" / "__init__.py") == set()
    assert exports["server/commands"] >= {"COMMANDS", "Command"}


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
    assert _names_bound_in(Path(schema.__file__)) - {"__all__"} == set(schema.__all__)


def _names_bound_in(module: Path) -> set[str]:
    names: set[str] = set()
    for statement in ast.parse(module.read_text(encoding="utf-8")).body:
        match statement:
            case ast.Import(aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Assign(targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(name)) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
    return names - {"annotations"}
