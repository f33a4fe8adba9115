"""Which candidates nobody beats on every anchor at once (paper, section "Multi-architecture evaluation")."""

import numpy as np


def on_frontier(table: np.ndarray) -> np.ndarray:
    """For each row of (candidates, anchors) whether no other row is at least as good everywhere and better somewhere.

    A row that lacks an anchor (NaN) counts as zero there. Equal rows are on the frontier together.
    """
    table = np.nan_to_num(np.asarray(table, np.float64), nan=0.0)
    keep = np.zeros(len(table), bool)
    left = np.argsort(-table.sum(axis=1), kind="stable")  # whoever dominates a row has a larger sum: comes before it
    while len(left):
        best, rest = left[0], left[1:]
        keep[best] = True
        beaten = (table[rest] <= table[best]).all(axis=1) & (table[rest] < table[best]).any(axis=1)
        left = rest[~beaten]
    return keep
