"""The text of `ncu --csv --page raw` as typed launches. The text is hostile: the profiled program may print into it."""

from __future__ import annotations

import csv
import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....memory.errors import HarnessError
from ..failure import clean
from .units import normalised

MAX_BYTES = 64 << 20
MAX_LAUNCHES = 256
MAX_LINE_CHARS = 1 << 20
"""A header of 2,238 columns has 130,000."""
MAX_VALUE = 1e100
MAX_MATCHES = 200
MAX_NAME_CHARS = 300
HEADER_START = '"ID","Process ID","Process Name","Host Name","Kernel Name"'
ROW_START = re.compile(r'"\d[\d,]*","\d[\d,]*",')
GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
PLAIN = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
# Every column before the first metric; ncu of another year has a few more or less of them.
ABOUT_THE_LAUNCH = frozenset({
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "Section Name", "Invocations",
})  # fmt: skip


class NcuFormatError(HarnessError):
    """The text is no complete raw CSV of ncu; the message names the line and the cure."""


@dataclass(frozen=True)
class RawMetric:
    """One cell: the number in the base unit, or None where ncu has no number; `text` is what it printed."""

    value: float | None
    unit: str
    text: str


@dataclass(frozen=True)
class Launch:
    """One launch of one kernel with every metric that ncu printed for it."""

    index: int
    process_id: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    compute_capability: str
    metrics: Mapping[str, RawMetric]

    def number(self, name: str) -> float | None:
        """The metric in its base unit; None where it is missing, empty or no number."""
        metric = self.metrics.get(name)
        return None if metric is None else metric.value

    def text(self, name: str) -> str:
        """The metric as printed; empty where it is missing."""
        metric = self.metrics.get(name)
        return "" if metric is None else metric.text

    def matching(self, pattern: str) -> dict[str, RawMetric]:
        """The metrics whose names match a shell pattern such as `dram__*`, in the file's order, MAX_MATCHES at most."""
        names = fnmatch.filter(self.metrics, pattern)
        return {name: self.metrics[name] for name in names[:MAX_MATCHES]}


@dataclass(frozen=True)
class NcuReport:
    """What one run of ncu printed."""

    launches: tuple[Launch, ...]
    warnings: tuple[str, ...]
    """ncu's own `==WARNING==` lines."""


@dataclass(frozen=True)
class _Table:
    columns: tuple[str, ...]
    units: tuple[tuple[str, float], ...]


def parse(raw: bytes) -> NcuReport:
    """Every launch in ncu's output, whatever a program printed before and after it.

    Raises:
        NcuFormatError: there is no table of launches, or it is cut, contradicts itself or is beyond the limits.
    """
    if len(raw) > MAX_BYTES:
        raise NcuFormatError(
            f"ncu printed {len(raw)} bytes, more than {MAX_BYTES}: profile fewer launches (--launch-count)"
        )
    # Not splitlines(): a form feed or a Unicode line separator inside a kernel's name ends no line of a CSV.
    lines = raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    launches = _launches(lines)
    if not launches:
        raise NcuFormatError(
            f"ncu's output of {len(lines)} lines holds no launch: its raw CSV starts with a line of column names "
            f"({HEADER_START},...); run it with --csv --page raw, and look at its own messages for why it stopped"
        )
    return NcuReport(tuple(launches.values()), _warnings(lines))


def _launches(lines: list[str]) -> dict[tuple[int, int], Launch]:
    found: dict[tuple[int, int], Launch] = {}
    table: _Table | None = None
    numbered = iter(enumerate(lines, start=1))
    for number, line in numbered:
        header = line.find(HEADER_START)
        if header >= 0:
            table = _table(line[header:], number, numbered)
        elif table is not None and ROW_START.match(line):
            launch = _launch(_cells(line, len(table.columns), number), table, number)
            key = (launch.process_id, launch.index)
            if found.setdefault(key, launch) != launch:
                raise NcuFormatError(
                    f"line {number}: a second, different launch {launch.index} of process {launch.process_id}: "
                    "the program prints lines like ncu's own; give ncu --log-file"
                )
            if len(found) > MAX_LAUNCHES:
                raise NcuFormatError(
                    f"line {number}: more than {MAX_LAUNCHES} launches: profile fewer of them (--launch-count)"
                )
    return found


def _table(line: str, number: int, following: Iterator[tuple[int, str]]) -> _Table:
    columns = tuple(_cells(line, None, number))
    if len(set(columns)) != len(columns):
        raise NcuFormatError(f"line {number}: a column's name stands twice: no header of ncu; give ncu --log-file")
    units_number, units_line = next(following, (number + 1, ""))
    units = _cells(units_line, len(columns), units_number)
    if units[0]:
        raise NcuFormatError(f"line {units_number}: the row of units is missing: run ncu with --page raw")
    return _Table(columns, tuple(normalised(unit) for unit in units))


def _cells(line: str, expected: int | None, number: int) -> list[str]:
    if len(line) > MAX_LINE_CHARS:
        raise NcuFormatError(f"line {number}: {len(line)} characters: the line is not ncu's; give ncu --log-file")
    try:
        cells = next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise NcuFormatError(f"line {number}: {error}: ncu was stopped while it wrote, or the disk is full") from None
    if expected is not None and len(cells) != expected:
        raise NcuFormatError(
            f"line {number}: {len(cells)} cells under {expected} columns: ncu was stopped while it wrote, or the "
            "disk is full; give it more time or space"
        )
    return cells


def _launch(cells: list[str], table: _Table, number: int) -> Launch:
    about = {name: cell for name, cell in zip(table.columns, cells, strict=True) if name in ABOUT_THE_LAUNCH}
    metrics = {
        name: _metric(cell, *unit)
        for name, cell, unit in zip(table.columns, cells, table.units, strict=True)
        if name not in ABOUT_THE_LAUNCH
    }
    return Launch(
        index=_whole(about["ID"], number),
        process_id=_whole(about["Process ID"], number),
        kernel=clean(about["Kernel Name"])[:MAX_NAME_CHARS] or "a kernel without a name",
        grid=_dim3(about.get("Grid Size", ""), "Grid Size", number),
        block=_dim3(about.get("Block Size", ""), "Block Size", number),
        compute_capability=clean(about.get("CC", ""))[:MAX_NAME_CHARS],
        metrics=metrics,
    )


def _metric(cell: str, unit: str, factor: float) -> RawMetric:
    value = _number(cell)
    return RawMetric(None if value is None else value * factor, unit, cell)


def _number(cell: str) -> float | None:
    """The number in a cell; None for an empty one, `nan`, `no data`, a name, or more than any counter holds."""
    text = cell.strip()
    if len(text) > MAX_NAME_CHARS or not text.isascii():
        return None
    if GROUPED.fullmatch(text):
        text = text.replace(",", "")
    elif not PLAIN.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) <= MAX_VALUE else None


def _whole(cell: str, number: int) -> int:
    value = _number(cell)
    if value is None or value != int(value):
        raise NcuFormatError(f"line {number}: {cell[:40]!r} is no whole number: the line is not ncu's")
    return int(value)


def _dim3(cell: str, column: str, number: int) -> tuple[int, int, int]:
    found = re.fullmatch(r"\(\s*(\d{1,10}),\s*(\d{1,10}),\s*(\d{1,10})\)", cell.strip(), re.ASCII)
    if found is None:
        raise NcuFormatError(f"line {number}: {column} is {cell[:40]!r}, not (x, y, z): the line is not ncu's")
    x, y, z = (int(part) for part in found.groups())
    return x, y, z


def _warnings(lines: list[str]) -> tuple[str, ...]:
    marked = (line for line in lines if line.startswith("==WARNING=="))
    seen = dict.fromkeys(clean(line.removeprefix("==WARNING==")).strip()[:MAX_NAME_CHARS] for line in marked)
    return tuple(seen)[:10]
