"""One idea a file: none is longer than 400 lines."""

from __future__ import annotations

from repository import FLOORS, ROOT, files

MAX_LINES = 400
WRITTEN = {".cpp", ".css", ".html", ".js", ".md", ".mjs", ".py", ".sql", ".toml", ".yaml"}


def test_no_file_is_longer_than_400_lines() -> None:
    folders = [ROOT / name for name in (*FLOORS, "tests", "examples")]
    paths = [path for folder in folders for path in files(folder)] + list(ROOT.glob("*.*"))
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
        if path.suffix in WRITTEN
    }
    assert "memory/errors.py" in lengths
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}
