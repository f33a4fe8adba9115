"""The figures of a run, each with the numbers behind it: what report, dashboard and files show."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evonorm.graph import Graph
from evonorm.journal import CandidateVerdict, average
from evonorm.pictures import (
    Axes,
    Bar,
    Cell,
    DotRow,
    Figure,
    Line,
    Mark,
    dot_rows,
    file_name,
    funnel,
    histogram,
    line_chart,
    scatter,
)
from evonorm.report.progress import PAPER_WINDOW, TopTen, search_progress
from evonorm.report.response import responses
from evonorm.report.tally import Tally

BINS = 40  # of histograms, 2.5 % each
CELLS = 50  # of calibrations, 2 % each
LONGEST_FRONTIER = 15
KEPT, LOST, BROKEN = 0, 1, 3  # series of the funnel
PERCENT = "accuracy (%)"

Link = Callable[[int], str | None]  # where the page of a candidate is


def no_link(_: int) -> None:
    return None


@dataclass(frozen=True)
class NamedTally:
    """A run for a figure: its name, what it adds up to, how long its population remembers."""

    name: str
    tally: Tally
    window: int = PAPER_WINDOW


def funnel_figure(tally: Tally) -> Figure:
    """What was proposed, each way out in the order of cost, and what was scored."""
    bars, left = [], tally.proposed
    for label, count, series in _ways_out(tally):
        left -= count
        bars.append(Bar(label, left, count, series))
    if copied := tally.verdicts[CandidateVerdict("scores"), True]:
        left -= copied
        bars.append(Bar("scored without training: equal to an earlier one", left, copied, KEPT))
    bars = [Bar("proposed", 0, tally.proposed, KEPT), *bars, Bar("trained to the end and scored", 0, left, KEPT)]
    rows = [(bar.label, bar.count) for bar in bars]
    return Figure(
        "funnel", "From proposals to scores", funnel("funnel", bars, tally.proposed), ("what", "candidates"), rows
    )


def _ways_out(tally: Tally) -> list[tuple[str, int, int]]:
    """Label, count and series of each; tests that look at the graph alone come before those that train."""
    counts: Counter[str] = Counter()
    trains: set[str] = set()
    for (verdict, untrained), count in tally.verdicts.items():
        if verdict.kind == "rejected":
            counts[verdict.label] += count
            trains |= set() if untrained else {verdict.label}  # such a test can also turn down before the first step
    ways = [
        (f"rejected {'in training' if test in trains else 'without training'}: {test}", counts[test], LOST)
        for test in sorted(counts, key=lambda test: (test in trains, -counts[test], test))
    ]
    ways.append(("failed: the evaluation broke", tally.count("failed"), BROKEN))
    ways.append(("in work, or not read yet", tally.pending + tally.last - tally.read, BROKEN))
    return [way for way in ways if way[1]]


def progress_figures(runs: list[NamedTally]) -> list[Figure]:
    """The paper's figure for the average and for every anchor, and the average against what it cost."""
    curves = {run.name: search_progress(run.tally.scored, run.window) for run in runs}
    anchors = sorted({anchor for run in runs for anchor in run.tally.scored.anchors})
    figures = [_progress_figure(runs, curves, None, "candidates")]
    if any(run.tally.steps for run in runs):
        figures.append(_progress_figure(runs, curves, None, "cost"))
    figures += [_progress_figure(runs, curves, anchor, "candidates") for anchor in anchors]
    return figures


def _progress_figure(runs: list[NamedTally], curves: dict[str, TopTen], anchor: str | None, against: str) -> Figure:
    lines = []
    for run in runs:
        found, column = curves[run.name], _column(run.tally, anchor)
        if column is None:
            continue
        x = found.candidates if against == "candidates" else found.spent_steps
        mean, spread = 100 * found.means[:, column], 100 * found.spreads[:, column]
        lines.append(Line(run.name, x.tolist(), mean.tolist(), (mean - spread).tolist(), (mean + spread).tolist()))
    label = {"candidates": "scored candidates", "cost": "training steps"}[against]
    axes = Axes(label, PERCENT, x_whole=True, levels=_reference_level(runs[0].tally, anchor), legend=len(runs) > 1)
    title = f"Top 10 {f'on {anchor}' if anchor else 'on average'}{' against cost' if against == 'cost' else ''}"
    name = file_name("progress", against, *([anchor] if anchor else []))
    rows = [(line.label, *row) for line in lines for row in zip(line.x, line.y, line.low, line.high, strict=True)]
    columns = ("run", label, "mean_percent", "mean_minus_std", "mean_plus_std")
    return Figure(name, title, line_chart(title, [line for line in lines if line.x], axes), columns, rows)


def _column(tally: Tally, anchor: str | None) -> int | None:
    if anchor is None:
        return len(tally.scored.anchors)
    return tally.scored.anchors.index(anchor) if anchor in tally.scored.anchors else None


def main_reference(tally: Tally) -> str | None:
    """The line to beat: BN-ReLU, or the first reference where it is not among them."""
    return "bn-relu" if "bn-relu" in tally.references else next(iter(tally.references), None)


def _reference_level(tally: Tally, anchor: str | None) -> dict[str, float]:
    name = main_reference(tally)
    if name is None:
        return {}
    accuracies = tally.references[name]
    if anchor is not None:
        return {name: 100 * accuracies[anchor]} if anchor in accuracies else {}
    return {name: 100 * average(accuracies)}


def histogram_figures(tally: Tally) -> list[Figure]:
    """How the accuracies of the scored candidates spread, on each anchor (the paper's first observation)."""
    edges = np.linspace(0, 100, BINS + 1)
    figures = []
    for column, anchor in enumerate(tally.scored.anchors):
        values = 100 * tally.scored.table[:, column]
        counts = np.histogram(values[~np.isnan(values)], edges)[0].tolist()
        axes = Axes(f"{PERCENT} on {anchor}", "candidates (log scale)", y_log=True)
        svg = histogram(f"accuracies on {anchor}", edges.tolist(), counts, axes, _reference_level(tally, anchor))
        rows = list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts, strict=True))
        figures.append(
            Figure(file_name("histogram", anchor), anchor, svg, ("from_percent", "to_percent", "candidates"), rows)
        )
    return figures


def calibration_figures(tally: Tally, link: Link = no_link) -> list[Figure]:
    """Accuracy on one anchor against another, for every pair (the paper's second observation)."""
    return [_calibration(tally, pair, link) for pair in combinations(range(len(tally.scored.anchors)), 2)]


def _calibration(tally: Tally, pair: tuple[int, int], link: Link) -> Figure:
    scored = tally.scored
    across, up = (scored.anchors[column] for column in pair)
    values = 100 * scored.table[:, pair]
    values = values[~np.isnan(values).any(axis=1)]
    cells = _cells(values)
    best = [place for place in _best_of_frontier(tally) if not np.isnan(scored.table[place, pair]).any()]
    marks = [_mark(tally, place, pair, link) for place in best]
    references = [
        Mark(100 * accuracies[across], 100 * accuracies[up], name)
        for name, accuracies in tally.references.items()
        if across in accuracies and up in accuracies
    ]
    axes = Axes(f"{PERCENT} on {across}", f"{PERCENT} on {up}", *_common_limits(cells, references))
    title = f"{across} against {up}"
    svg = scatter(title, cells, marks, references, axes)
    return Figure(
        file_name("calibration", across, up),
        title,
        svg,
        (f"{across}_percent", f"{up}_percent", "candidates"),
        list(cells),
    )


def _cells(values: np.ndarray) -> list[Cell]:
    """How many of the points, (candidates, 2) in percent, fall into each cell that has any."""
    column, row = np.clip(values * CELLS / 100, 0, CELLS - 1).astype(int).T
    counts = np.bincount(column * CELLS + row)
    filled = np.flatnonzero(counts)
    middles = [100 * (place + 0.5) / CELLS for place in range(CELLS)]
    where = zip((filled // CELLS).tolist(), (filled % CELLS).tolist(), counts[filled].tolist(), strict=True)
    return [Cell(middles[i], middles[j], count) for i, j, count in where]


def _mark(tally: Tally, place: int, pair: tuple[int, int], link: Link) -> Mark:
    x, y = (float(100 * tally.scored.table[place, column]) for column in pair)
    index = int(tally.scored.indices[place])
    return Mark(x, y, f"candidate {index}: {x:.1f} %, {y:.1f} %", link(index))


def _common_limits(cells: list[Cell], references: list[Mark]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The same tens of percent on both axes, so that equal accuracies lie on the diagonal."""
    places = [(cell.x, cell.y) for cell in cells] + [(mark.x, mark.y) for mark in references]
    values = [each for place in places for each in place] or [0.0, 100.0]
    low, high = 10 * np.floor((min(values) - 2) / 10), 10 * np.ceil((max(values) + 2) / 10)
    limits = max(0.0, float(low)), min(100.0, float(high))
    return limits, limits


def _best_of_frontier(tally: Tally) -> list[int]:
    averages = tally.scored.averages
    return sorted(tally.scored.frontier, key=lambda place: (-averages[place], place))[:LONGEST_FRONTIER]


def frontier_figure(tally: Tally, link: Link = no_link) -> Figure:
    """Candidates that no other beats on all anchors at once, the best average first."""
    scored = tally.scored
    rows, data = [], []
    for place in _best_of_frontier(tally):
        index = int(scored.indices[place])
        values = [float(100 * value) for value in scored.table[place]]
        rows.append(DotRow(f"#{index}", values, link(index)))
        data.append((index, *values))
    axes = Axes(PERCENT, "candidate")
    svg = dot_rows("Pareto frontier", scored.anchors, rows, axes)
    return Figure(
        "frontier", "Pareto frontier", svg, ("candidate", *(f"{each}_percent" for each in scored.anchors)), data
    )


def response_figure(graph: Graph) -> Figure:
    """Output against x for several statistics of x; the range leaves out what explodes."""
    curves = responses(graph)
    lines = [Line(f"mean {each.mean:g}, std {each.std:g}", each.x, each.y) for each in curves]
    shown = _shown_outputs([y for each in curves for y in each.y])
    axes = Axes("x", "output before the affine", (-4, 4), shown, tips=False)  # ten of them would be half of a page
    rows = [(each.mean, each.std, x, y) for each in curves for x, y in zip(each.x, each.y, strict=True)]
    return Figure("response", "Response to x", line_chart("response", lines, axes), ("mean", "std", "x", "y"), rows)


def _shown_outputs(outputs: list[float]) -> tuple[float, float]:
    """From the 2nd to the 98th percentile with some room, at most 50 beyond the output that is nearest to zero.

    All of it where that is hardly more: only what explodes is cut.
    """
    finite = np.array([y for y in outputs if abs(y) < 1e30] or [0.0])  # larger ones would leave no room in a double
    low, high = (float(each) for each in np.quantile(finite, (0.02, 0.98)))
    nearest = min(max(0.0, low), high)
    low, high = max(low, nearest - 50), min(high, nearest + 50)
    lowest, highest = float(finite.min()), float(finite.max())
    if highest - lowest < 1.6 * (high - low):
        low, high = lowest, highest
    room = max(0.5, 0.08 * (high - low), 0.01 * abs(nearest))
    return low - room, high + room
