"""A stored file, page by page."""

from __future__ import annotations

from .result import ARTIFACT_URI
from .untrusted import clean

DEFAULT_PAGE_BYTES = 20_000
MAX_PAGE_BYTES = 200_000


def artifact_page(digest: str, data: bytes, offset: int, limit: int) -> str:
    """`limit` bytes of the file from `offset`, with where the next page starts; binary files are only named.

    Offsets count bytes of the file; a character that a page border cuts is shown on neither page.
    """
    if b"\0" in data:
        return f"[binary file of {len(data)} bytes: not shown]\n"
    limit = min(max(limit, 1), MAX_PAGE_BYTES)
    page = data[offset : offset + limit]
    text = clean(page.decode("utf-8", errors="ignore"))
    end = offset + len(page)
    if end >= len(data):
        return text
    following = f"{ARTIFACT_URI.format(digest=digest)}?offset={end}&limit={limit}"
    return f"{text}\n[bytes {offset}..{end} of {len(data)}; the next page is {following}]\n"
