"""A headless Chromium for tests of pages: what a reader would see, and what the console would say."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from node_tools import NODE, PACKAGES, package_bin

TIMEOUT_S = 90
"""The first call after an installation unpacks the browser."""


@dataclass(frozen=True)
class PageResult:
    """A page as the browser showed it."""

    text: str
    """The visible text of the body."""
    console_errors: tuple[str, ...]
    """Uncaught exceptions and console errors; a request that leaves the file is one (there is no network)."""


def render(page: Path, out_png: Path) -> PageResult:
    """Open a local page, save a full-page picture of it (1280 wide) and return what it shows.

    Raises:
        FileNotFoundError: the browser is not installed.
        AssertionError: the browser failed; the message is what it said.
    """
    package_bin("playwright-core")
    command = [str(NODE), str(PACKAGES / "screenshot.mjs"), str(page), str(out_png)]
    environment = {"HOME": str(out_png.parent), "PATH": os.defpath}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, f"the browser failed on {page.name}:\n{done.stderr}"
    result = json.loads(done.stdout)
    return PageResult(text=result["text"], console_errors=tuple(result["console_errors"]))
