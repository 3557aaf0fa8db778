"""The units that ncu prints, brought to one of each kind: ns, byte, hz, and seconds below the line."""

from __future__ import annotations

import re

PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
PREFIXED = re.compile(r"([KMGTP]?)(byte|hz|sector|inst|cycle|request|thread|warp|block)s?", re.IGNORECASE)
NANOSECONDS = {
    "ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
}  # fmt: skip


def normalised(unit: str) -> tuple[str, float]:
    """A printed unit's base unit, and by what a value in it is multiplied to be in the base unit.

    `Gbyte/second` gives `("byte/s", 1e9)` and `msecond` `("ns", 1e6)`; a unit not known here stays as it is.
    """
    above, slash, below = unit.strip().partition("/")
    base, factor = _above(above)
    if not slash:
        return base, factor
    if below in NANOSECONDS:
        return f"{base}/s", factor * 1e9 / NANOSECONDS[below]
    per, divisor = _above(below)
    return f"{base}/{per}", factor / divisor


def _above(unit: str) -> tuple[str, float]:
    if unit in NANOSECONDS:
        return "ns", NANOSECONDS[unit]
    found = PREFIXED.fullmatch(unit)
    if found is None:
        return unit, 1.0
    return found.group(2).lower(), PREFIXES[found.group(1).upper()]
