"""The report of a search: one HTML page that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from string import Template

from ...memory.schema import SearchView

SCRIPTS = ("common.js", "curve.js", "tree.js", "page.js")
"""One module, in this order."""
IN_SCRIPT = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""JSON has these inside strings only, where the escape means the same and no HTML parser sees a tag."""


def report_html(view: SearchView) -> str:
    """The page; it holds its style, its script and the view, and forbids itself everything else."""
    style, script = _shipped("page.css"), "\n".join(map(_shipped, SCRIPTS))
    return Template(_shipped("page.html")).substitute(
        title=escape(f"kernelguild: {view.task_name}"),
        policy=f"default-src 'none'; img-src data:; style-src {_source_hash(style)}; script-src {_source_hash(script)}",
        style=style,
        script=script,
        view=view.model_dump_json().translate(IN_SCRIPT),
    )


def _shipped(name: str) -> str:
    assert __package__ is not None
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source_hash(text: str) -> str:
    """What the policy lets run: this text alone (Content Security Policy, level 2)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
