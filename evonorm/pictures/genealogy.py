"""Who came from whom, over time: a chart of candidates and the lines between parents and children."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evonorm.pictures.chart_frame import Axes, Frame, marker, tip
from evonorm.pictures.markup import Markup, element
from evonorm.pictures.palette import SOFT
from evonorm.pictures.scales import padded


@dataclass(frozen=True)
class Person:
    """A candidate: when it came, how good it is (NaN: never scored), what it belongs to, where its page is."""

    number: int
    value: float
    group: int | None  # a colour and a shape; None is drawn as a small grey dot
    words: str
    parent: int | None = None
    link: str | None = None


def genealogy(title: str, people: Sequence[Person], groups: Sequence[str], axes: Axes) -> Markup:
    """Candidates over their numbers, a line to each from its parent; what was never scored stands at the bottom."""
    values = [person.value for person in people if math.isfinite(person.value)]
    if not values:
        return Frame(title, axes, [], (0, 10), (0, 100)).empty()
    numbers = [float(person.number) for person in people]
    low, high = padded([*values, *axes.levels.values()], 0.02)
    floor = low - 0.08 * (high - low)
    frame = Frame(title, axes, list(groups), padded(numbers, 1.0, 0.0), (floor, high), height=330, marks=True)
    places = {
        each.number: (frame.x(each.number), frame.y(each.value if math.isfinite(each.value) else floor))
        for each in people
    }
    lines = "".join(
        "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*places[each.parent], *places[each.number])
        for each in people
        if each.parent in places
    )
    edges = {
        "d": lines or "M0 0",
        "fill": "none",
        "stroke": SOFT,
        "stroke-width": 0.8,
        "class": "kin",
        "opacity": "0.55",
    }
    drawn = [element("path", edges)]
    by_weight = sorted(people, key=lambda each: each.group is not None)
    drawn += [_person(frame, each, *places[each.number]) for each in by_weight]
    return frame.svg(drawn)


def _person(frame: Frame, person: Person, x: float, y: float) -> Markup:
    dot = element("circle", {"cx": x, "cy": y, "r": 2.2, "fill": SOFT, "class": "kin-dot"})
    shape = dot if person.group is None else marker(person.group, x, y)
    shown = tip(shape, person.words, y=frame.top - 2)
    return element("a", {"href": person.link}, shown) if person.link else shown
