"""Search progress as in the paper's figure: mean and spread of the top 10 of the population, as candidates come in."""

from dataclasses import dataclass

import numpy as np

from evonorm.report.scored import Scored

TOP = 10
SAMPLES = 120  # points of a curve; more cannot be told apart on paper
PAPER_WINDOW = 2500


@dataclass(frozen=True)
class TopTen:
    """Curves over `candidates` scored so far; means and spreads (one standard deviation) are (points, anchors + 1).

    The last column is the average over the anchors, by which the ten are chosen.
    """

    candidates: np.ndarray
    spent_steps: np.ndarray
    means: np.ndarray
    spreads: np.ndarray


def search_progress(scored: Scored, window: int = PAPER_WINDOW) -> TopTen:
    """The population at any time is the last `window` scored candidates, as in the search itself."""
    columns = np.column_stack([np.nan_to_num(scored.table), scored.averages]) if len(scored) else np.empty((0, 1))
    ends = np.unique(np.linspace(1, len(scored), min(SAMPLES, len(scored))).round().astype(int))
    best = np.full((len(ends), TOP, columns.shape[1]), np.nan)
    order = -columns[:, -1]  # a copy: the column itself lies scattered in memory
    for place, end in enumerate(ends):
        start = max(0, end - window)
        chosen = np.argpartition(order[start:end], min(TOP, end - start) - 1)[:TOP]
        best[place, : len(chosen)] = columns[start + chosen]
    spent = scored.spent_steps[ends - 1] if len(ends) else ends
    return TopTen(ends, spent, np.nanmean(best, axis=1), np.nanstd(best, axis=1))
