"""The box around a chart: scales, labelled axes, legend, lines of reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evonorm.pictures.markup import Markup, element, joined
from evonorm.pictures.palette import DASHES, GRID, INK, SERIES, SOFT, series_class
from evonorm.pictures.scales import Scale, tick_text

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 16, 44
LEGEND_ROW = 18
LONGEST_TIP = 52  # letters that fit above a chart
HALO = {"class": "halo", "stroke": "white", "stroke-width": 3, "paint-order": "stroke"}  # of words over what is drawn
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Axes:
    """What the two directions mean, with units; limits of None follow the data."""

    x_label: str
    y_label: str
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    y_log: bool = False
    x_whole: bool = False  # counts: no ticks between whole numbers
    x_names: Sequence[str] = ()  # in place of numbers: of 0, 1, 2, ...
    levels: dict[str, float] = field(default_factory=dict)  # named horizontal lines
    legend: bool = True
    tips: bool = True  # whether a line chart tells its values under the mouse


class Frame:
    """The box of a chart: scales, axes with labels, legend above."""

    def __init__(
        self,
        title: str,
        axes: Axes,
        legend: Sequence[str],
        x_limits: tuple[float, float],
        y_limits: tuple[float, float],
        height: int = HEIGHT,
        names: bool = False,
        marks: bool = False,
    ) -> None:
        self.marks = marks or names  # the legend shows markers in place of dashes
        self.title, self.axes, self.legend, self.height, self.names = title, axes, legend, height, names
        self.top = TOP + legend_rows(legend) * LEGEND_ROW
        self.bottom = height - BOTTOM
        self.x = Scale(*x_limits, LEFT, WIDTH - RIGHT)
        self.y = Scale(*y_limits, self.bottom, self.top, axes.y_log)
        self.names_at_start = False  # of levels: at the left end instead of the right
        if names:
            self.y = Scale(*y_limits, self.bottom, self.top)

    def svg(self, drawn: list[Markup]) -> Markup:
        """The chart: the grid, what was drawn (cut at the box, unless it has names beside it), levels, legend."""
        inside = drawn if self.names else [self._cut(drawn)]
        levels = [self._level(name, value) for name, value in self.axes.levels.items()]
        return chart_svg(self.title, self.height, [self._grid(), *inside, *levels, self._legend()])

    def _cut(self, drawn: list[Markup]) -> Markup:
        """A nested drawing with the same coordinates: cuts off what lies outside, and needs no id to do so."""
        width, height = WIDTH - LEFT - RIGHT, self.bottom - self.top + 8
        box = {"x": LEFT, "y": self.top - 4, "width": width, "height": height}
        return element("svg", {**box, "viewBox": f"{LEFT} {self.top - 4} {width} {height}"}, *drawn)

    def empty(self) -> Markup:
        return self.svg([self.nothing()])

    def nothing(self) -> Markup:
        place = {"x": (LEFT + WIDTH - RIGHT) / 2, "y": (self.top + self.bottom) / 2, "text-anchor": "middle"}
        return element("text", {**place, "fill": SOFT, "class": "soft"}, "nothing to show yet")

    def _grid(self) -> Markup:
        lines, words = [], []
        for tick, name in self._x_ticks():
            x = self.x(tick)
            lines.append(element("line", {"x1": x, "x2": x, "y1": self.bottom, "y2": self.bottom + 4}))
            words.append(element("text", {"x": x, "y": self.bottom + 17, "text-anchor": "middle"}, name))
        for tick in [] if self.names else self.y.ticks():
            y = self.y(tick)
            lines.append(element("line", {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": y, "y2": y}))
            words.append(element("text", {"x": LEFT - 6, "y": y + 4, "text-anchor": "end"}, tick_text(tick)))
        base = element(
            "line",
            {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": self.bottom, "y2": self.bottom, "stroke": SOFT, "class": "axis"},
        )
        middle = (LEFT + WIDTH - RIGHT) / 2
        words.append(element("text", {"x": middle, "y": self.height - 6, "text-anchor": "middle"}, self.axes.x_label))
        if self.names:
            return joined(base, element("g", {"fill": SOFT, "class": "soft", "font-size": 11}, *words))
        turned = f"translate(12 {(self.top + self.bottom) / 2:.1f}) rotate(-90)"
        words.append(element("text", {"transform": turned, "text-anchor": "middle"}, self.axes.y_label))
        grid = element("g", {"stroke": GRID, "class": "grid"}, *lines)
        return joined(grid, base, element("g", {"fill": SOFT, "class": "soft", "font-size": 11}, *words))

    def _x_ticks(self) -> list[tuple[float, str]]:
        if self.axes.x_names:
            return [(float(place), name) for place, name in enumerate(self.axes.x_names)]
        return [(tick, tick_text(tick)) for tick in self.x.ticks(least=1.0 if self.axes.x_whole else 0.0)]

    def _legend(self) -> Markup:
        pieces, x, y = [], float(LEFT), 10.0
        for number, label in enumerate(self.legend):
            width = legend_width(label)
            if x > LEFT and x + width > WIDTH - 4:
                x, y = float(LEFT), y + LEGEND_ROW
            pieces.append(marker(number, x + 8, y) if self.marks else swatch(number, x, y))
            pieces.append(element("text", {"x": x + 26, "y": y + 4, "font-size": 11}, label))
            x += width
        return joined(*pieces)

    def _level(self, name: str, value: float) -> Markup:
        y = self.y(value)
        end = {"x": LEFT + 2} if self.names_at_start else {"x": WIDTH - RIGHT - 2, "text-anchor": "end"}
        place = {**end, "y": y - 4, "font-size": 11}
        return joined(reference_line(LEFT, y, WIDTH - RIGHT, y), element("text", {**place, **HALO}, name))


def tip(shape: Markup, *words: str, x: float = LEFT, y: float = TOP - 2) -> Markup:
    """A shape that answers to the mouse and, inside of a link, to the keyboard: its words show above the chart.

    A page's style sheet shows them, so neither a report nor a live page needs a script for it; a file never does.
    """
    shown = [each if len(each) <= LONGEST_TIP else f"{each[: LONGEST_TIP - 1]}…" for each in words]
    rows = [element("tspan", {"x": x, "dy": 13 if number else 0}, each) for number, each in enumerate(shown)]
    # no more attributes than that: a page has hundreds of them
    place = {"x": x, "y": y, "class": "value", "visibility": "hidden"}
    return element("g", {"class": "tip"}, shape, element("text", place, *(shown if len(shown) == 1 else rows)))


def legend_width(label: str) -> float:
    return 36 + 6.3 * len(label)


def legend_rows(labels: Sequence[str]) -> int:
    rows, x = (1 if labels else 0), float(LEFT)
    for label in labels:
        if x > LEFT and x + legend_width(label) > WIDTH - 4:
            rows, x = rows + 1, float(LEFT)
        x += legend_width(label)
    return rows


def chart_svg(title: str, height: float, parts: Sequence[Markup]) -> Markup:
    frame = {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": "img", "tabindex": 0}
    frame |= {"width": WIDTH, "height": height}
    style = {"font-family": FONT, "font-size": 12, "fill": INK, "class": "ink"}
    body = element("g", style, *parts)
    return element("svg", {**frame, "viewBox": f"0 0 {WIDTH} {height:g}"}, element("title", {}, title), body)


def stroke(number: int) -> dict[str, object]:
    colour, dash = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
    return {"fill": "none", "stroke": colour, "stroke-width": 1.8, "stroke-dasharray": dash}


def swatch(number: int, x: float, y: float) -> Markup:
    place = {"x1": x, "x2": x + 20, "y1": y, "y2": y}
    return element("line", {**place, **stroke(number), "class": f"{series_class(number)} stroke"})


def reference_line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    place = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", {**place, "stroke": INK, "stroke-dasharray": "5 4", "class": "ink-stroke"})


def marker(number: int, x: float, y: float) -> Markup:
    """Disc, square, triangle, diamond: told apart without colour."""
    shapes = (
        f"M{x - 4.5:.1f} {y:.1f} a4.5 4.5 0 1 0 9 0 a4.5 4.5 0 1 0 -9 0",
        f"M{x - 4:.1f} {y - 4:.1f} h8 v8 h-8 Z",
        f"M{x:.1f} {y - 5:.1f} l5 9 h-10 Z",
        f"M{x:.1f} {y - 5.5:.1f} l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 Z",
    )
    place = {"d": shapes[number % len(shapes)], "fill": SERIES[number % len(SERIES)]}
    return element("path", {**place, "class": f"{series_class(number)} fill"})
