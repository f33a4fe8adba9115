"""Small charts as SVG, drawn here so that a report needs no script and a live page no library.

Made for 400 pixels in width: a phone shows one, a screen three in a row, and the text is never scaled to nothing. Every
part has presentation attributes for files and a class for the style sheet of a page.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from evonorm.pictures.chart_frame import (
    BOTTOM,
    HALO,
    LEFT,
    LEGEND_ROW,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    Frame,
    chart_svg,
    legend_rows,
    marker,
    reference_line,
    stroke,
    tip,
)
from evonorm.pictures.markup import Markup, element, joined
from evonorm.pictures.palette import GRID, INK, SERIES, SOFT, series_class
from evonorm.pictures.scales import padded, tick_text

SHADES = 5
MOST_COLUMNS = 40  # of a line chart, that tell their values
LETTER = 6.2  # the width of one at the size of labels, more or less


@dataclass(frozen=True)
class Line:
    """A curve, with a band from low to high around it if these are given."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Mark:
    """A named point; with `link`, clicking it leads there."""

    x: float
    y: float
    label: str
    link: str | None = None


def line_chart(title: str, lines: Sequence[Line], axes: Axes) -> Markup:
    """Curves with their bands, and horizontal lines of reference."""
    if not lines:
        return Frame(title, axes, [], (0, 10), (0, 100)).empty()
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *line.low, *line.high)] + list(axes.levels.values())
    labels = [line.label for line in lines] if axes.legend else []
    frame = Frame(title, axes, labels, axes.x_limits or padded(xs, 1.0, *_floor(xs)), axes.y_limits or padded(ys, 0.02))
    frame.names_at_start = _nearest(frame, lines, 0.0, 0.25) > _nearest(frame, lines, 0.75, 1.0)
    drawn = [_line(frame, number, line) for number, line in enumerate(lines)]
    return frame.svg([*drawn, *(_columns(frame, lines) if axes.tips else [])])


def _columns(frame: Frame, lines: Sequence[Line]) -> list[Markup]:
    """Upright strips that tell the values of every line around there."""
    places = sorted({x for line in lines for x in line.x})
    places = places[:: max(1, math.ceil(len(places) / MOST_COLUMNS))]
    across = [frame.x(x) for x in places]
    edges = [LEFT, *((a + b) / 2 for a, b in pairwise(across)), WIDTH - RIGHT]
    strips = []
    for x, middle, left, right in zip(places, across, edges, edges[1:], strict=False):
        values = [value for line in lines if (value := _value_at(line, x, len(lines) > 1))]
        here = f"{tick_text(x)} {frame.axes.x_label}: "
        words = [here + "".join(values)] if len(lines) == 1 else [here, *values]
        area = {"x": left, "y": frame.top, "width": max(right - left, 1.0), "height": frame.bottom - frame.top}
        hair = {"x1": middle, "x2": middle, "y1": frame.top, "y2": frame.bottom, "class": "hair"}
        strip = joined(element("rect", {**area, "fill-opacity": 0}), element("line", hair))
        strips.append(tip(strip, *words, y=frame.top - 2))
    return strips


def _value_at(line: Line, x: float, named: bool) -> str:
    """The value of a line at its point nearest to x, with its band."""
    place = min(range(len(line.x)), key=lambda k: abs(line.x[k] - x))
    if not math.isfinite(line.y[place]):
        return ""
    band = f" ({line.low[place]:.4g} to {line.high[place]:.4g})" if line.low else ""
    return f"{f'{line.label} ' if named else ''}{line.y[place]:.4g}{band}"


def _nearest(frame: Frame, lines: Sequence[Line], start: float, end: float) -> float:
    """How near, in pixels, a curve comes to a level in this part of the width."""
    first, last = (LEFT + share * (WIDTH - RIGHT - LEFT) for share in (start, end))
    near = [
        abs(frame.y(y) - frame.y(level) + 8)  # the name stands above its line
        for line in lines
        for x, y in zip(line.x, line.y, strict=True)
        for level in frame.axes.levels.values()
        if math.isfinite(y) and first <= frame.x(x) <= last
    ]
    return min(near, default=math.inf)


def _floor(values: list[float]) -> tuple[float, float]:
    """Counts and times begin at zero: no room to the left of it."""
    return (0.0, math.inf) if values and min(values) >= 0 else (-math.inf, math.inf)


def histogram(title: str, edges: Sequence[float], counts: Sequence[int], axes: Axes, marks: dict[str, float]) -> Markup:
    """Bars of counts on a log scale; `marks` are named vertical lines."""
    highest = 10.0 ** math.ceil(math.log10(max([*counts, 9]) + 1))
    frame = Frame(title, axes, [], (edges[0], edges[-1]), (0.7, highest))
    bars = [
        tip(element("rect", {"x": frame.x(left) + 0.5, "y": frame.y(count),
                             "width": frame.x(right) - frame.x(left) - 1, "height": frame.bottom - frame.y(count)}),
            f"{tick_text(left)} to {tick_text(right)}: {count:,}")
        for left, right, count in zip(edges, edges[1:], counts, strict=False)
        if count
    ]  # fmt: skip
    drawn = (
        [element("g", {"class": f"{series_class(0)} fill", "fill": SERIES[0]}, *bars)] if bars else [frame.nothing()]
    )
    return frame.svg([*drawn, *(_vertical(frame, name, value) for name, value in marks.items())])


class Cell(NamedTuple):
    """How many points fall around a place. A tuple, since a live page makes thousands of them."""

    x: float
    y: float
    points: int


def scatter(title: str, cells: Sequence[Cell], marks: Sequence[Mark], references: Sequence[Mark], axes: Axes) -> Markup:
    """Points gathered into cells (darker = more), single ones marked on top, references as diamonds."""
    assert axes.x_limits
    assert axes.y_limits
    frame = Frame(title, axes, [], axes.x_limits, axes.y_limits)
    drawn = _density(frame, cells) if cells else []
    drawn += [] if cells or marks or references else [frame.nothing()]
    drawn.append(
        element("g", {"class": f"{series_class(1)} fill", "fill": SERIES[1]}, *(_disc(frame, m) for m in marks))
    )
    return frame.svg([*drawn, element("g", {"class": "ink-fill", "fill": INK}, *_diamonds(frame, references, marks))])


def cost_chart(title: str, marks: Sequence[tuple[Mark, bool]], axes: Axes) -> Markup:
    """Points over what they cost; those on the front (True) are larger and joined by a line."""
    if not marks:
        return Frame(title, axes, [], (0, 10), (0, 100)).empty()
    across, up = [mark.x for mark, _ in marks], [mark.y for mark, _ in marks] + list(axes.levels.values())
    frame = Frame(title, axes, [], (max(0.0, min(across) - 1), max(across) + 1), padded(up, 0.02))
    front = sorted((mark.x, mark.y) for mark, on_front in marks if on_front)
    line = element("path", {"d": _path(frame, front), **stroke(1), "class": f"{series_class(1)} stroke"})
    rest = element("g", {"class": f"{series_class(0)} fill", "fill": SERIES[0], "opacity": "0.75"},
                   *(_disc(frame, mark) for mark, on_front in marks if not on_front))  # fmt: skip
    best = element("g", {"class": f"{series_class(1)} fill", "fill": SERIES[1]},
                   *(_disc(frame, mark) for mark, on_front in marks if on_front))  # fmt: skip
    return frame.svg([line, rest, best])


def _density(frame: Frame, cells: Sequence[Cell]) -> list[Markup]:
    """Dots of zero length with round ends, a path for each of a few shades: thousands of cells stay small."""
    most = math.log1p(max(cell.points for cell in cells))
    shades: dict[int, list[str]] = {}
    across, up = frame.x, frame.y
    for x, y, points in cells:
        shade = math.ceil(SHADES * math.log1p(points) / most)
        shades.setdefault(shade, []).append(f"M{across(x):.1f} {up(y):.1f}h0")
    look = {"stroke": SERIES[0], "stroke-width": 5, "stroke-linecap": "round", "class": f"{series_class(0)} stroke"}
    return [
        element("path", {"d": "".join(words), "opacity": f"{0.2 + 0.8 * shade / SHADES:.2f}", **look})
        for shade, words in sorted(shades.items())
    ]


@dataclass(frozen=True)
class Bar:
    """One row of a funnel: what goes, from `start` on, out of a whole."""

    label: str
    start: int
    count: int
    series: int


def funnel(title: str, bars: Sequence[Bar], whole: int) -> Markup:
    """A row for each way out, the bars one behind the other, so that what is left shows."""
    step, width = 38, WIDTH - 4
    rows = []
    for number, bar in enumerate(bars):
        y = number * step
        share = f"{bar.count:,}  ({100 * bar.count / whole:.3g} %)" if whole else "0"
        room = int((width - LETTER * len(share)) / LETTER) - 2
        label = bar.label if len(bar.label) <= room else f"{bar.label[: room - 1]}…"
        left, length = 2 + width * bar.start / max(whole, 1), width * bar.count / max(whole, 1)
        rows += [
            element("text", {"x": 2, "y": y + 13}, label, element("title", {}, bar.label)),
            element("text", {"x": WIDTH - 2, "y": y + 13, "text-anchor": "end", "class": "soft", "fill": SOFT}, share),
            element("rect", {"x": 2, "y": y + 18, "width": width, "height": 11, "fill": GRID, "class": "trough"}),
            element("rect", {"x": left, "y": y + 18, "width": max(length, 1.5 if bar.count else 0), "height": 11,
                             "fill": SERIES[bar.series], "class": f"{series_class(bar.series)} fill"}),
        ]  # fmt: skip
    return chart_svg(title, max(len(bars) * step, 20), rows)


@dataclass(frozen=True)
class DotRow:
    """A candidate with a value for each column."""

    label: str
    values: Sequence[float]
    link: str | None = None


def dot_rows(title: str, columns: Sequence[str], rows: Sequence[DotRow], axes: Axes) -> Markup:
    """A row of dots for each candidate, shape and colour by column."""
    if not rows:
        return Frame(title, axes, [], (0, 100), (0, 1), 160, names=True).empty()
    values = [value for row in rows for value in row.values if math.isfinite(value)]
    legend = legend_rows(columns)
    height = TOP + legend * LEGEND_ROW + len(rows) * 22 + BOTTOM
    frame = Frame(
        title, axes, columns, axes.x_limits or padded(values, 0.02), (len(rows) - 0.5, -0.5), height, names=True
    )
    drawn = []
    for place, row in enumerate(rows):
        y = frame.y(place)
        name = element("text", {"x": LEFT - 5, "y": y + 4, "text-anchor": "end", "font-size": 11}, row.label)
        line = element("line", {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": y, "y2": y, "stroke": GRID, "class": "grid"})
        shapes = [marker(k, frame.x(value), y) for k, value in enumerate(row.values) if math.isfinite(value)]
        words = ", ".join(
            f"{column} {value:.4g}" for column, value in zip(columns, row.values, strict=True) if math.isfinite(value)
        )
        strip = {"x": LEFT, "y": y - 11, "width": WIDTH - RIGHT - LEFT, "height": 22}
        whole = joined(element("rect", {**strip, "fill-opacity": 0}), line, name, *shapes)
        drawn.append(_linked(row.link, tip(whole, words, y=y - 7)))
    return frame.svg(drawn)


def _line(frame: Frame, number: int, line: Line) -> Markup:
    drawn = []
    if line.low:
        there = [(x, y) for x, y in zip(line.x, line.high, strict=True)]
        back = [(x, y) for x, y in zip(line.x, line.low, strict=True)][::-1]
        band = {
            "class": f"{series_class(number)} fill band",
            "fill": SERIES[number % len(SERIES)],
            "fill-opacity": "0.16",
        }
        drawn.append(element("path", {"d": _path(frame, there + back) + "Z", **band}))
    if len(line.x) == 1 and math.isfinite(line.y[0]):
        return marker(number, frame.x(line.x[0]), frame.y(line.y[0]))  # a path of one point has no length to be seen
    path = _path(frame, list(zip(line.x, line.y, strict=True)))
    drawn.append(element("path", {"d": path, **stroke(number), "class": f"{series_class(number)} stroke"}))
    return joined(*drawn)


def _path(frame: Frame, points: list[tuple[float, float]]) -> str:
    """Straight pieces through the finite points; a value that is not finite leaves a gap."""
    words, pen = [], "M"
    across, up = frame.x, frame.y
    for x, y in points:
        if math.isfinite(y):
            words.append(f"{pen}{across(x):.1f} {max(-9999.0, min(9999.0, up(y))):.1f}")
        pen = "L" if math.isfinite(y) else "M"
    return " ".join(words)


def _vertical(frame: Frame, name: str, value: float) -> Markup:
    x = frame.x(value)
    toward_end = x < (LEFT + WIDTH - RIGHT) / 2
    place = {"x": x + (4 if toward_end else -4), "y": frame.top + 9, "text-anchor": "start" if toward_end else "end"}
    return joined(reference_line(x, frame.top, x, frame.bottom), element("text", {**place, "font-size": 11}, name))


def _linked(link: str | None, drawn: Markup) -> Markup:
    return element("a", {"href": link}, drawn) if link else drawn


def _disc(frame: Frame, mark: Mark) -> Markup:
    place = {"cx": frame.x(mark.x), "cy": frame.y(mark.y), "r": 4.2}
    return _linked(mark.link, tip(element("circle", place), mark.label, y=frame.top - 2))


def _diamonds(frame: Frame, marks: Sequence[Mark], discs: Sequence[Mark]) -> list[Markup]:
    """Diamonds, then their names over everything else, each where it covers the least of marks and other names."""
    places = [(frame.x(mark.x), frame.y(mark.y)) for mark in marks]
    discs_at = [(frame.x(disc.x), frame.y(disc.y)) for disc in discs]
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in [*places, *discs_at]]
    shapes = [element("path", {"d": f"M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 Z"}) for x, y in places]
    names = []
    for (x, y), mark in zip(places, marks, strict=True):
        box = _free_box(frame, x, y, 6.3 * len(mark.label), taken)
        taken.append(box)
        names.append(element("text", {"x": box[0], "y": box[3] - 3, "font-size": 11, **HALO}, mark.label))
    return [*shapes, *names]


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _free_box(frame: Frame, x: float, y: float, width: float, taken: list[Box]) -> Box:
    """Room for a name beside a point: left, right, above or below, where most is free."""
    corners = [(x - 10 - width, y - 7), (x + 10, y - 7), (x - width / 2, y - 22), (x - width / 2, y + 8)]
    boxes = [_inside(frame, (left, top, left + width, top + 14)) for left, top in corners]
    return min(boxes, key=lambda box: sum(_overlap(box, each) for each in taken))  # the first of equals


def _inside(frame: Frame, box: Box) -> Box:
    left, top, right, bottom = box
    across = max(LEFT + 2 - left, 0.0) + min(WIDTH - RIGHT - 2 - right, 0.0)
    down = max(frame.top - top, 0.0) + min(frame.bottom - bottom, 0.0)
    return left + across, top + down, right + across, bottom + down


def _overlap(one: Box, other: Box) -> float:
    across, down = (min(one[k + 2], other[k + 2]) - max(one[k], other[k]) for k in (0, 1))
    return max(across, 0.0) * max(down, 0.0)
