"""Colours that people with any kind of colour vision can tell apart; dark pages have theirs in CSS.

The first four are those of Okabe and Ito, the fourth a little darker so that it stands out from white; the last two
are far from these for every kind of colour vision (a test measures it). Series also differ by dash and by marker, so
that no figure depends on colour alone.
"""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#C86FA0", "#7A4A00", "#7818D8")
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
INK, SOFT, GRID = "#222222", "#5c6166", "#dfe3e6"


def series_class(number: int) -> str:
    """The class by which a page's style sheet recolours a series."""
    return f"series-{number % len(SERIES) + 1}"
