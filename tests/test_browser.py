"""The browser that tests look through is not blind: it reports what goes wrong in a page."""

from __future__ import annotations

from pathlib import Path

from browser import render

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_a_page_is_shown_with_its_errors_and_its_reach_for_the_network(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<!doctype html><meta charset="utf-8"><body><h1>Übung</h1><p hidden>unseen</p>'
        '<img src="https://example.org/logo.png"><script>document.body.append("by script"); missing()</script>',
        encoding="utf-8",
    )
    result = render(page, tmp_path / "page.png")
    assert result.text.split() == ["Übung", "by", "script"]
    assert sorted(error.split(":")[0] for error in result.console_errors) == [
        "Failed to load resource",
        "ReferenceError",
    ]
    assert (tmp_path / "page.png").read_bytes().startswith(PNG_SIGNATURE)
