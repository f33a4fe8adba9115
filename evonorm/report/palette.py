"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito); dark pages have theirs in CSS.

Series also differ by dash and by marker, so that no figure depends on colour alone.
"""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
INK, SOFT, GRID = "#222222", "#5c6166", "#dfe3e6"


def series_class(number: int) -> str:
    """The class by which a page's style sheet recolours a series."""
    return f"series-{number % len(SERIES) + 1}"
