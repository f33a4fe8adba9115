"""Figures as PNG, drawn by resvg, which the extra `report` brings. SVG and CSV never need it."""

import functools

SCALE = 2.5  # 1000 pixels across for our 400: sharp on a slide
# resvg does not know what a system means by sans-serif, and leaves out text without a word if no family is there.
FAMILIES = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "Ubuntu", "Cantarell", "Roboto")


class NoPngError(ValueError):
    """This machine cannot draw PNG files; the message says what is missing."""


def png_of(svg: str) -> bytes:
    """The picture on white, text and all."""
    if (reason := why_no_png()) is not None:
        raise NoPngError(reason)
    return _drawn(svg, SCALE, _family())


def why_no_png() -> str | None:
    """What is missing to draw, or None."""
    try:
        family = _family()
    except ImportError:
        return "PNG files need the package resvg_py. Install it with: pip install 'evonorm[report]'"
    if family is None:
        known = ", ".join(FAMILIES)
        return f"PNG files need a font, and none of {known} is here. On Debian: apt-get install fonts-dejavu-core"
    return None


@functools.cache
def _family() -> str | None:
    """The first of our families that this machine has: the one in which a letter leaves a trace."""
    frame = "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20'>{}</svg>"
    letter = frame.format("<text x='2' y='16' font-family='sans-serif'>M</text>")
    nothing = _drawn(frame.format(""), 1, None)
    return next((each for each in FAMILIES if _drawn(letter, 1, each) != nothing), None)


def _drawn(svg: str, scale: float, family: str | None) -> bytes:
    import resvg_py

    return resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, background="white", sans_serif_family=family)
