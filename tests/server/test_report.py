"""The report as a reader's browser shows it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from browser import PageResult, render
from kernelguild.memory.schema import SearchView
from kernelguild.server.report import report_html
from report_views import HOSTILE, empty_view, failures_view, grown_view, hostile_view, small_view

PHONE = 390
TIMES = "\u00d7"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


def shown(view: SearchView, page: Path, fragment: str = "", *steps: dict[str, str], width: int = 1280) -> PageResult:
    page.write_text(report_html(view), encoding="utf-8")
    result = render(page, page.with_suffix(".png"), width=width, fragment=fragment, steps=steps)
    assert result.console_errors == ()
    assert result.scroll_width <= width
    return result


def words(result: PageResult) -> str:
    return " ".join(result.text.split())


def test_the_result_and_its_measurement_are_told(page: Path) -> None:
    text = words(shown(small_view(), page))
    for told in (
        "softmax_cpp",
        "finished",
        "6 of 8",
        "tuner:2",
        "Duplicates saved 3",
        "x86-64 test machine",
        "1 min 35 s",
    ):
        assert told in text
    assert (
        f"3.80{TIMES} faster than the baseline 99 % interval 3.65{TIMES} to 3.95{TIMES} confirmed by a second" in text
    )
    assert "Baseline 0.800 ms Best 0.211 ms Best path: seed vectorized_load light_fusion" in text
    assert 'extern "C" int softmax' in text
    assert "every timed call got inputs drawn for it alone" in text


def test_a_gain_within_the_band_is_not_called_faster(page: Path) -> None:
    view = small_view()
    assert view.best is not None
    best = view.best.model_copy(update={"speedup": 1.02, "speedup_low": 1.01, "speedup_high": 1.03, "confirmed": False})
    text = words(shown(view.model_copy(update={"best": best}), page))
    assert re.search(r"1\.02. of the baseline.s speed: too close to call", text)
    assert "measured once, not confirmed" in text


def test_every_node_has_its_row_of_figures(page: Path) -> None:
    text = words(shown(small_view(), page))
    assert f"#2 light_fusion best, confirmed 3.80{TIMES} width 1" in text
    assert f"bound by memory faster 4.00{TIMES} 0.750 0.750 0.400 1 #3 small_unroll" in text
    assert re.search(r"#3 small_unroll .* incorrect values \S 0.000 0.000 0.400 1 #4", text)
    assert "2 proposals, 1 being judged" in text


def test_a_click_shows_what_a_node_changed_and_why(page: Path) -> None:
    assert "The judge y[0, 3]" not in words(shown(small_view(), page))
    text = words(shown(small_view(), page, "", {"click": "#node-3"}))
    assert "Node 3: small_unroll" in text
    assert "The judge y[0, 3] is off" in text
    assert re.search(r"Change against node 1 .* - out\[i\] = in\[i\]; .* \+ store8", text)
    again = shown(small_view(), page, "", {"click": "#node-3"}, {"click": "#node-3"})
    assert "Node 3: small_unroll" not in again.text


def test_a_link_to_a_node_opens_it_and_the_keyboard_goes_on_from_there(page: Path) -> None:
    assert "Node 3: small_unroll" in shown(small_view(), page, "#node-3").text
    steps = [{"press": key} for key in ("ArrowUp", "Enter")]
    text = shown(small_view(), page, "#node-3", *steps).text
    assert "Node 2: light_fusion" in text
    assert "Node 3: small_unroll" not in text


def test_a_folded_node_hides_what_is_below_it(page: Path) -> None:
    steps = [{"press": key} for key in ("ArrowUp", "ArrowLeft")]
    text = shown(small_view(), page, "#node-2", *steps).text
    assert "#1" in text
    assert "#2" not in text


def test_hostile_text_is_shown_and_does_nothing(page: Path) -> None:
    text = shown(hostile_view(), page, "#node-1").text
    assert text.count(HOSTILE) >= 5
    assert "U+202E" in text
    assert "\u202e" not in text
    assert "</script><script>" not in page.read_text(encoding="utf-8")


def test_the_page_holds_all_that_it_needs(page: Path) -> None:
    html = report_html(small_view())
    assert re.search(r"""(src|href)\s*=\s*["']?(https?:|//)""", html) is None
    assert "default-src 'none'" in html


def test_a_search_that_has_only_its_seed_is_drawn(page: Path) -> None:
    text = words(shown(empty_view(), page))
    assert "0 of 8" in text
    assert "No result No program has been judged." in text


def test_a_search_in_which_nothing_passed_is_drawn(page: Path) -> None:
    text = words(shown(failures_view(), page, "#node-2"))
    assert "No result None of 3 programs passed." in text
    assert "compile error" in text
    assert "Node 2" in text


def test_hundreds_of_nodes_open_on_the_best_path_and_unfold_at_a_click(page: Path) -> None:
    view = grown_view(300, random.Random(1))
    assert view.best is not None
    text = shown(view, page, width=PHONE).text
    assert f"#{view.best.node}\n" in text
    assert len(re.findall(r"#\d+\n", text)) < 100
    text = shown(view, page, "", {"click": "#unfold"}, width=PHONE).text
    assert len(re.findall(r"#\d+\n", text)) == 300
