"""Where the nodes of a graph stand on paper: rows from the inputs down to the output, few crossings, short edges.

A small layered layout: every node stands one row below the lowest of its inputs, an edge over several rows gets a
waypoint in each row between (one chain per source, which all its readers share), neighbours are swapped while that
takes away crossings, and then every row is moved as close to its neighbours in the other rows as its order allows.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from evonorm.graph import INITIAL_NODES, Graph

SWEEPS = 8
STARTS = 5
STRAIGHTNESS = 6.0
WAYPOINT_WIDTH = 14.0

Spot = tuple[int, int]  # (node number, row): the node itself, or a waypoint of its edges in a lower row


@dataclass(frozen=True)
class Layout:
    """Centres of the spots in units of the widths that were handed in; rows count from 0."""

    rows: dict[int, int]
    x: dict[Spot, float]
    left: float
    right: float

    @property
    def height(self) -> int:
        return max(self.rows.values()) + 1

    def way(self, source: int, target: int) -> list[Spot]:
        """The spots of an edge, from its source to the row above its target, then the target."""
        return [(source, row) for row in range(self.rows[source], self.rows[target])] + [(target, self.rows[target])]


def lay_out(graph: Graph, numbers: Iterable[int], widths: dict[int, float], gap: float) -> Layout:
    """Places these nodes; `numbers` must hold the inputs of each of them. `gap` is the room between two neighbours."""
    numbers = sorted(numbers)
    rows = _rows(graph, numbers)
    links = _links(graph, numbers, rows)
    order: list[list[Spot]] = [[] for _ in range(max(rows.values()) + 1)]
    for spot in sorted({spot for link in links for spot in link} | set(rows.items())):
        order[spot[1]].append(spot)
    order = _with_few_crossings(order, links)
    size = {spot: widths[spot[0]] if rows[spot[0]] == spot[1] else WAYPOINT_WIDTH for row in order for spot in row}
    x = _positions(order, links, size, gap)
    left = min(x[spot] - size[spot] / 2 for spot in x)
    right = max(x[spot] + size[spot] / 2 for spot in x)
    return Layout(rows, x, left, right)


def _rows(graph: Graph, numbers: list[int]) -> dict[int, int]:
    rows = dict.fromkeys(range(len(INITIAL_NODES)), 0)
    for number in numbers:
        if number >= len(INITIAL_NODES):
            rows[number] = 1 + max(rows[i] for i in graph.node(number).inputs)
    for initial in range(len(INITIAL_NODES)):  # v1 stands just above its first reader, not at the top
        readers = [rows[n] for n in numbers if n >= len(INITIAL_NODES) and initial in graph.node(n).inputs]
        rows[initial] = min(readers, default=1) - 1
    return {number: rows[number] for number in numbers}


def _links(graph: Graph, numbers: list[int], rows: dict[int, int]) -> set[tuple[Spot, Spot]]:
    """Pairs of spots in neighbouring rows that an edge joins."""
    found: set[tuple[Spot, Spot]] = set()
    for number in numbers:
        for i in graph.node(number).inputs if number >= len(INITIAL_NODES) else ():
            way = [(i, row) for row in range(rows[i], rows[number])] + [(number, rows[number])]
            found.update(pairwise(way))
    return found


def _neighbours(links: set[tuple[Spot, Spot]]) -> dict[Spot, list[Spot]]:
    found: dict[Spot, list[Spot]] = {}
    for upper, lower in sorted(links):
        found.setdefault(upper, []).append(lower)
        found.setdefault(lower, []).append(upper)
    return found


def _with_few_crossings(order: list[list[Spot]], links: set[tuple[Spot, Spot]]) -> list[list[Spot]]:
    """The best of a few starts: as given, then shuffled, always in the same way."""
    best, fewest = _swept(order, links)
    shuffle = random.Random(0).shuffle  # noqa: S311 (a picture needs no secrecy)
    for _ in range(STARTS - 1):
        if not fewest:
            break
        order = [list(row) for row in order]
        for row in order:
            shuffle(row)
        found, crossings = _swept(order, links)
        if crossings < fewest:
            best, fewest = found, crossings
    return best


def _swept(order: list[list[Spot]], links: set[tuple[Spot, Spot]]) -> tuple[list[list[Spot]], int]:
    neighbours = _neighbours(links)
    best, fewest = order, _crossings(order, links)
    for sweep in range(SWEEPS):
        order = [list(row) for row in order]
        for row in order if sweep % 2 == 0 else reversed(order):
            _sort_by_neighbours(row, order, neighbours, above=sweep % 2 == 0)
        order = _swapped(order, links)
        if (crossings := _crossings(order, links)) < fewest:
            best, fewest = order, crossings
    return best, fewest


def _sort_by_neighbours(
    row: list[Spot], order: list[list[Spot]], neighbours: dict[Spot, list[Spot]], above: bool
) -> None:
    place = {spot: i / len(each) for each in order for i, spot in enumerate(each)}

    def wish(spot: Spot) -> float:
        seen = [place[n] for n in neighbours.get(spot, []) if (n[1] < spot[1]) == above]
        return sum(seen) / len(seen) if seen else place[spot]

    row.sort(key=wish)


def _swapped(order: list[list[Spot]], links: set[tuple[Spot, Spot]]) -> list[list[Spot]]:
    """Swaps neighbours as long as that takes away crossings, of which only those above and below the row can change."""
    place = {spot: i for row in order for i, spot in enumerate(row)}
    between = _by_row(links)
    improved = True
    while improved:
        improved = False
        for number, row in enumerate(order):
            around = [between.get(number - 1, []), between.get(number, [])]
            for i in range(len(row) - 1):
                one, other = row[i], row[i + 1]
                before = sum(_count_crossings(each, place) for each in around)
                place[one], place[other] = i + 1, i
                if sum(_count_crossings(each, place) for each in around) < before:
                    row[i], row[i + 1] = other, one
                    improved = True
                else:
                    place[one], place[other] = i, i + 1
    return order


def _by_row(links: set[tuple[Spot, Spot]]) -> dict[int, list[tuple[Spot, Spot]]]:
    """The links below each row."""
    found: dict[int, list[tuple[Spot, Spot]]] = {}
    for upper, lower in links:
        found.setdefault(upper[1], []).append((upper, lower))
    return found


def _crossings(order: list[list[Spot]], links: set[tuple[Spot, Spot]]) -> int:
    place = {spot: i for row in order for i, spot in enumerate(row)}
    return sum(_count_crossings(each, place) for each in _by_row(links).values())


def _count_crossings(links: list[tuple[Spot, Spot]], place: dict[Spot, int]) -> int:
    ends = [(place[upper], place[lower]) for upper, lower in links]
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(ends) for b in ends[:i])


def _positions(
    order: list[list[Spot]], links: set[tuple[Spot, Spot]], size: dict[Spot, float], gap: float
) -> dict[Spot, float]:
    neighbours = _neighbours(links)
    x: dict[Spot, float] = {}
    for row in order:
        x.update(_spread(row, dict.fromkeys(row, 0.0), size, gap))
    for sweep in range(3 * SWEEPS):
        for row in order if sweep % 2 == 0 else reversed(order):
            wishes = {spot: _wish(spot, neighbours.get(spot, [spot]), x) for spot in row}
            x.update(_spread(row, wishes, size, gap))
    return x


def _wish(spot: Spot, neighbours: list[Spot], x: dict[Spot, float]) -> float:
    """The middle of the neighbours; waypoints of one edge pull each other harder, so that long edges are straight."""
    pulls = [STRAIGHTNESS if n[0] == spot[0] else 1.0 for n in neighbours]
    return sum(pull * x[n] for pull, n in zip(pulls, neighbours, strict=True)) / sum(pulls)


def _spread(row: list[Spot], wishes: dict[Spot, float], size: dict[Spot, float], gap: float) -> dict[Spot, float]:
    """The places nearest to the wishes (least squares) that keep the order and the gap: pool what would overlap."""
    offsets, offset = [], 0.0
    for i, spot in enumerate(row):
        offset += (size[row[i - 1]] + size[spot]) / 2 + gap if i else 0.0
        offsets.append(offset)
    pools: list[list[float]] = []
    for spot, away in zip(row, offsets, strict=True):
        pools.append([wishes[spot] - away])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    starts = [_mean(pool) for pool in pools for _ in pool]
    return {spot: start + away for spot, start, away in zip(row, starts, offsets, strict=True)}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
