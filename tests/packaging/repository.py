"""The checkout that these tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("memory", "agents_cfg", "tools", "resources", "server")


def files(folder: Path) -> Iterator[Path]:
    """The files under a folder, without what tools leave behind."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in {"__pycache__", "node_modules"} or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path
