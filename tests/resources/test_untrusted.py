"""Text that somebody else wrote."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelguild.resources.untrusted import clean, fence

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=())) | st.lists(
    st.sampled_from(["\x1b[31m", "\x1b]0;x\x07", "\x1b", "[0m", "\u202e", "\r\n", "\ud800", "`", "```", "a", "\n"])
).map("".join)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31merror:\x1b[0m bad", "error: bad"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a\u202eb\u2066c\u200bd\U000e0041e", "abcde"),
        ("bell\x07 nul\x00 tab\t", "bell nul tab\t"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("f\u00fcr \u4e2d\u6587 \U0001f600", "f\u00fcr \u4e2d\u6587 \U0001f600"),
    ],
)
def test_what_a_terminal_or_a_model_would_obey_is_gone_and_the_words_stay(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@given(ANY_TEXT)
def test_cleaned_text_can_be_sent_and_holds_no_control_characters(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert all(unicodedata.category(character) not in {"Cc", "Cs"} or character in "\n\t" for character in cleaned)
    assert not any(unicodedata.bidirectional(character) in {"RLO", "LRO", "RLI", "LRI"} for character in cleaned)


@given(ANY_TEXT)
def test_a_fence_cannot_be_closed_from_within(text: str) -> None:
    lines = fence(clean(text), "text").split("\n")
    ticks = lines[0].removesuffix("text")
    assert set(ticks) == {"`"}
    assert lines[-1] == ticks
    assert all(ticks not in line for line in lines[1:-1])
