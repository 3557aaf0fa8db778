"""What the documents say is so: links resolve, commands exist, configurations are those that the program prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelguild.server.cli import build_parser
from kernelguild.server.commands.install import claude, codex
from repository import ROOT, files

PYTHON = "/path/to/kernelguild/.venv/bin/python"
DOCUMENTS = [*ROOT.glob("*.md"), *(path for path in files(ROOT / "examples") if path.suffix == ".md")]
MAX_GUIDE_LINES = 110


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_documents_links_and_commands_work(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
    for words in _commands(text):
        if words[0] == "kernelguild":
            build_parser().parse_args(words[1:])
        elif words[0] == "make":
            assert words[1] in _make_targets()
        for word in words:
            path = word.removeprefix("kernelbench:")
            assert not path.startswith("examples/") or (ROOT / path).exists(), f"{document.name} names {path}"


def test_the_readme_shows_every_command_and_make_target() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = list(_commands(text))
    commands = set(re.findall(r"(?m)^    ([a-z]+) ", build_parser().format_help()))
    assert "verify" in commands
    assert {words[1] for words in shown if words[0] == "kernelguild"} >= commands
    assert {words[1] for words in shown if words[0] == "make"} >= {"demo", "test", "check", "test-gpu"}


def test_the_readme_shows_the_configurations_that_install_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for printed in (claude(PYTHON), codex(PYTHON)):
        for part in re.split(r"(?m)^#.*\n", printed):
            assert part.strip() in text


def test_the_guide_for_agents_is_short_and_read_by_every_agent() -> None:
    guide = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert len(guide.splitlines()) < MAX_GUIDE_LINES
    assert (ROOT / "CLAUDE.md").read_text(encoding="utf-8").strip() == "@AGENTS.md"


def test_every_make_target_is_in_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r'echo "make ([a-z-]+)', makefile)) == _make_targets() - {"help"}


def _commands(text: str) -> Iterator[list[str]]:
    """The command lines of all shell blocks, continued lines joined."""
    for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] != "$":
                yield words


def _make_targets() -> set[str]:
    (phony,) = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"))
    return set(phony.split())
