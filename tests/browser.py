"""A headless Chromium for tests of pages: what a reader would see, and what the console would say."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
    scroll_width: int
    """Pixels; more than the window's width where the page scrolls sideways."""


def render(
    page: Path,
    out_png: Path,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    fragment: str = "",
    steps: Sequence[dict[str, str]] = (),
) -> PageResult:
    """Open a local page, save a full-page picture of it and return what it shows.

    Args:
        width: of the window, in pixels.
        scheme: the reader's preferred colour scheme.
        fragment: what follows the address, `#` included.
        steps: what the reader does, in order: `{"click": SELECTOR}` or `{"press": KEY}`.

    Raises:
        FileNotFoundError: the browser is not installed.
        AssertionError: the browser failed; the message is what it said.
    """
    package_bin("playwright-core")
    visit = json.dumps({"width": width, "scheme": scheme, "fragment": fragment, "steps": list(steps)})
    command = [str(NODE), str(PACKAGES / "screenshot.mjs"), str(page), str(out_png), visit]
    environment = {"HOME": str(out_png.parent), "PATH": os.defpath}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, f"the browser failed on {page.name}:\n{done.stderr}"
    result = json.loads(done.stdout)
    return PageResult(
        text=result["text"], console_errors=tuple(result["console_errors"]), scroll_width=result["scroll_width"]
    )
