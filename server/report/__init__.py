"""What a reader sees of a search: one page, drawn from one `SearchView`."""

from .page import report_html

__all__ = ["report_html"]
