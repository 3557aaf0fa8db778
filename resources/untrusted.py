"""Text that somebody else wrote: made harmless to show, and fenced so that it reads as data."""

from __future__ import annotations

import re

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings: window titles, hyperlinks
    r"|\x1b[@-Z\\^_a-z0-9=<>]?"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters, but for tab and newline
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"  # zero width and bidirectional
    "\U000e0000-\U000e007f]"  # tags: text that no screen shows and every model reads
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without terminal sequences and without control, zero-width and bidirectional characters.

    Line ends become newlines, lone surrogates become U+FFFD, so that the result can always be encoded.
    """
    text = _LINE_ENDS.sub("\n", _ANSI.sub("", text))
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text))


def fence(text: str, label: str) -> str:
    """The text between fences longer than any run of backticks in it; `label` names where it is from."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{label}\n{text.rstrip(chr(10))}\n{ticks}"
