"""ncu's raw CSV is read whatever a program prints around it, or refused with the line and the cure."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.tools.judge.deep.ncu_csv import MAX_BYTES, NcuFormatError, parse
from kernelguild.tools.judge.deep.report import report_of
from kernelguild.tools.judge.deep.units import normalised
from profiles import matmuls, naive_gemm, small_table

HEADER, UNITS, ROW = small_table()
SHORT_ROW = ROW[: ROW.rindex(',"')]
TABLE = "\n".join((HEADER, UNITS, ROW, ""))


def test_a_real_report_after_a_programs_own_lines_is_read_whole() -> None:
    (launch,) = parse(naive_gemm()).launches
    assert launch.kernel == "MyGemmKernel"
    assert (launch.grid, launch.block) == ((64, 64, 1), (16, 16, 1))
    assert (launch.index, launch.process_id, launch.compute_capability) == (0, 503, "9.0")
    # 2,238 columns, of which the first 11 say which launch it is.
    assert len(launch.metrics) == 2227
    # "248,736" ns and "1,974,839,333.12" hz.
    assert launch.number("gpu__time_duration.sum") == 248_736
    assert launch.number("smsp__cycles_elapsed.avg.per_second") == 1_974_839_333.12
    assert launch.metrics["dram__bytes_read.sum"].unit == "byte"


def test_every_launch_of_a_call_is_read_in_order() -> None:
    launches = parse(matmuls()).launches
    assert [launch.index for launch in launches] == [0, 1, 2, 3, 4]
    assert [launch.number("gpu__time_duration.sum") for launch in launches] == [7072, 7040, 59616, 41568, 14656]


def test_a_cell_without_a_number_is_none_and_keeps_its_text() -> None:
    (launch,) = parse(naive_gemm()).launches
    cells = {name: launch.text(name) for name in (
        "launch__kernel_name", "sass__inst_executed_register_spilling_mem_local", "derived_tempMetric4",
        "device__attribute_display_name",
    )}  # fmt: skip
    assert list(cells.values()) == ["", "no data", "nan", "NVIDIA H200"]
    assert [launch.number(name) for name in cells] == [None] * 4
    assert launch.number("no_such_metric") is None


def test_metrics_are_found_by_a_pattern() -> None:
    (launch,) = parse(naive_gemm()).launches
    found = launch.matching("dram__bytes_*.sum")
    assert {name: metric.text for name, metric in found.items()} == {
        "dram__bytes_read.sum": "4,198,656", "dram__bytes_write.sum": "0",
    }  # fmt: skip


def test_the_profilers_own_warnings_are_kept() -> None:
    warnings = parse(naive_gemm()).warnings
    assert warnings[0].startswith("Note: Running with unmodified GPU clocks.")
    assert warnings[1].startswith("Unable to access the following 6 metrics: ctc__rx_bytes_data_user.sum")


@pytest.mark.parametrize(
    "around",
    [
        b'"ID","say "hi\n==PROF== x\n',  # what a real program printed below ncu
        b'a line with "one quote\n"and" another\n',
        b'"12","not ncu\'s"\n',
        b"\xff\xfe\x00\x80 no UTF-8\n",
        b"\x1b[2J\r\n\r\n",
        b'"7,1\n',
    ],
)
def test_what_a_program_prints_before_and_after_changes_nothing(around: bytes) -> None:
    (launch,) = parse(around + TABLE.encode() + around).launches
    assert launch.number("gpu__time_duration.sum") == 248_736


def test_a_header_behind_unfinished_program_output_is_found() -> None:
    (launch,) = parse(b"progress 99 %" + TABLE.encode()).launches
    assert launch.kernel == "MyGemmKernel"


def test_a_table_printed_twice_counts_once() -> None:
    assert len(parse((TABLE + TABLE).encode()).launches) == 1


def test_two_tables_with_other_columns_are_both_read() -> None:
    narrow = [",".join(line.split(",")[:-1]) for line in ('"A","B"', '"",""', '"1","2"')]
    start = '"ID","Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size",'
    second = [start + narrow[0], '"","","","","","","",' + narrow[1]]
    second += ['"0","9","p","h","other","(1, 1, 1)","(2, 1, 1)",' + narrow[2], ""]
    first, other = parse((TABLE + "\n".join(second)).encode()).launches
    assert (first.kernel, other.kernel, other.number("A")) == ("MyGemmKernel", "other", 1)


def test_a_kernels_name_is_shown_without_what_a_screen_would_obey() -> None:
    (launch,) = parse(TABLE.replace("MyGemmKernel", "Ev\x1bil\u202e").encode()).launches
    assert launch.kernel == "Evil"


@pytest.mark.parametrize(
    ("text", "line", "cure"),
    [
        (HEADER[:200], "line 1", "stopped while it wrote"),
        (f"{HEADER}{',' * 2_000_000}", "line 1", "--log-file"),
        (HEADER, "line 2", "give it more time or space"),
        (f"{HEADER}\n{UNITS[:30]}", "line 2", "give it more time or space"),
        (f"{HEADER}\n{UNITS}\n{ROW[:-20]}", "line 3", "stopped while it wrote"),
        (f"{HEADER}\n{UNITS}\n{SHORT_ROW}", "line 3", "give it more time or space"),
        (f"{HEADER}\n{ROW}\n", "line 2", "--page raw"),
        (f"{TABLE}{HEADER}\n{UNITS}\n{ROW.replace('248,736', '1')}", "line 6", "--log-file"),
        (f"{HEADER},{HEADER}\n{UNITS}", "line 1", "--log-file"),
        (TABLE.replace("(16, 16, 1)", "(16)"), "line 3", "not ncu's"),
        (TABLE.replace('"0","503"', '"0","503.5"'), "holds no launch", "--csv --page raw"),
        (f"{HEADER}\n{UNITS}\n", "holds no launch", "--csv --page raw"),
        ("==WARNING== No kernels were profiled.\n", "holds no launch", "--csv --page raw"),
        ("", "holds no launch", "--csv --page raw"),
    ],
)  # fmt: skip
def test_what_is_cut_or_no_table_is_refused_with_its_line_and_the_cure(text: str, line: str, cure: str) -> None:
    with pytest.raises(NcuFormatError) as refused:
        parse(text.encode())
    assert cure in str(refused.value)
    assert line in str(refused.value)


def test_more_than_the_limit_is_refused() -> None:
    with pytest.raises(NcuFormatError, match="--launch-count"):
        parse(b"x" * (MAX_BYTES + 1))


@given(st.binary(max_size=2000))
def test_no_bytes_raise_anything_but_a_refusal(raw: bytes) -> None:
    with contextlib.suppress(NcuFormatError):
        parse(raw)


@given(
    st.integers(0, len(TABLE)), st.integers(0, len(TABLE)),
    st.text(alphabet='",\n\r\x00()=0123456789.eE-+KMGbyte/s%naif\ud800', max_size=30),
)  # fmt: skip
def test_no_damage_to_a_real_table_raises_anything_but_a_refusal(start: int, end: int, put: str) -> None:
    damaged = TABLE[:start] + put + TABLE[end:]
    try:
        read = parse(damaged.encode("utf-8", "surrogatepass"))
    except NcuFormatError as refused:
        assert "line" in str(refused)  # noqa: PT017
        return
    report_of(read)
    values = [metric.value for launch in read.launches for metric in launch.metrics.values()]
    assert all(value is None or math.isfinite(value) for value in values)


@pytest.mark.parametrize(
    ("unit", "base", "factor"),
    [
        ("ns", "ns", 1), ("us", "ns", 1e3), ("usecond", "ns", 1e3), ("ms", "ns", 1e6), ("msecond", "ns", 1e6),
        ("s", "ns", 1e9), ("second", "ns", 1e9), ("byte", "byte", 1), ("Kbyte", "byte", 1e3), ("Mbyte", "byte", 1e6),
        ("Gbyte", "byte", 1e9), ("byte/s", "byte/s", 1), ("Gbyte/second", "byte/s", 1e9), ("Mbyte/s", "byte/s", 1e6),
        ("hz", "hz", 1), ("Mhz", "hz", 1e6), ("Ghz", "hz", 1e9), ("cycle/nsecond", "cycle/s", 1e9),
        ("cycle/usecond", "cycle/s", 1e6), ("Kbyte/block", "byte/block", 1e3), ("%", "%", 1), ("", "", 1),
        ("inst/cycle", "inst/cycle", 1), ("sectors", "sector", 1), ("branches", "branches", 1),
        ("register/thread", "register/thread", 1), ("%/register", "%/register", 1),
    ],
)  # fmt: skip
def test_units_come_to_one_base(unit: str, base: str, factor: float) -> None:
    found, times = normalised(unit)
    assert found == base
    assert times == pytest.approx(factor)


@pytest.mark.parametrize("cell", ["1e101", "-1e300", "9" * 200, "1" + ",000" * 90, "inf", "NaN", "0x10", "1,5", "٣"])
def test_what_is_no_plain_number_is_none(cell: str) -> None:
    (launch,) = parse(TABLE.replace("248,736", cell).encode()).launches
    assert launch.number("gpu__time_duration.sum") is None


def test_values_are_in_the_base_unit() -> None:
    (launch,) = parse(TABLE.replace('"ns"', '"usecond"').encode()).launches
    assert launch.number("gpu__time_duration.sum") == 248_736_000
