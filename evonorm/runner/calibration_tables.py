"""What a calibration says: figures of every layer, rank correlations of every stage with the target, costs."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evonorm.runner.calibrate import Level
from evonorm.runner.calibration_trial import Curve, Look, Side
from evonorm.runner.rank_correlation import correlate, kendall, spearman

Figure = Literal["accuracy", "running loss"]
FIGURES: tuple[Figure, ...] = ("accuracy", "running loss")
BEST_SHARE = 0.25  # of the layers: the best ones, which no stage may lose
RESAMPLING_SEED = 0

Row = list[str]


@dataclass(frozen=True)
class Calibration:
    """The curves of layers of several kinds ("named", "random", ...) on the stages of a recipe and on a target."""

    kinds: dict[str, tuple[str, ...]]
    levels: tuple[Level, ...]
    target: Level
    curves: tuple[Curve, ...]

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(layer for layers in self.kinds.values() for layer in layers))

    def score(self, side: Side, layer: str, anchors: Sequence[str], step: int, figure: Figure) -> float | None:
        """The average over anchors and seeds, better is higher; None while a training is missing or if one broke."""
        each = [self._on_anchor(side, layer, anchor, step, figure) for anchor in anchors]
        known = [score for score in each if score is not None]
        return statistics.fmean(known) if len(known) == len(each) else None

    def _on_anchor(self, side: Side, layer: str, anchor: str, step: int, figure: Figure) -> float | None:
        wanted = (side, layer, anchor)
        curves = [c for c in self.curves if (c.trial.side, c.trial.layer, c.trial.anchor) == wanted]
        if not curves or any(curve.error for curve in curves):
            return None
        return statistics.fmean(_value(look, figure) for c in curves for look in c.looks if look.step == step)

    def on_level(self, layer: str, level: Level, figure: Figure = "accuracy") -> float | None:
        return self.score("cheap", layer, level.anchors, level.steps, figure)

    def on_target(self, layer: str, anchors: Sequence[str] = ()) -> float | None:
        """The accuracy on some of the target's anchors, all of them if none is named."""
        return self.score("target", layer, anchors or self.target.anchors, self.target.steps, "accuracy")


def _value(look: Look, figure: Figure) -> float:
    """A run that blew up is last by either figure, as it is on the ladder."""
    if figure == "accuracy":
        return look.accuracy if look.accuracy is not None else 0.0
    return -look.running_loss if look.running_loss is not None else -math.inf


def score_columns(found: Calibration) -> Row:
    cheap = [f"{level.name}, {level.steps} steps" for level in found.levels]
    return ["layer", *cheap, *found.target.anchors, f"mean, {found.target.steps} steps"]


def score_rows(found: Calibration) -> list[Row]:
    """Accuracies in %, the best on the target first."""
    ordered = sorted(found.layers, key=lambda layer: found.on_target(layer) or -1.0, reverse=True)
    return [
        [
            layer,
            *(_percent(found.on_level(layer, level)) for level in found.levels),
            *(_percent(found.on_target(layer, [anchor])) for anchor in found.target.anchors),
            _percent(found.on_target(layer)),
        ]
        for layer in ordered
    ]


CORRELATION_COLUMNS = ["stage", "figure", "layers", "target", "n", "Spearman [95 %]", "Kendall [95 %]"]


def correlation_rows(found: Calibration) -> list[Row]:
    """Every stage by either figure against each anchor of the target and their mean; the mean by kind of layer too.

    Random layers are mostly bad and layers with a name mostly good: that all together agree says only that a stage
    tells these two apart.
    """
    rows = []
    for level in found.levels:
        for figure in FIGURES:
            for anchor in found.target.anchors:
                rows.append(_correlation_row(found, level, figure, "all", found.layers, [anchor]))
            for kind, layers in (("all", found.layers), *found.kinds.items()):
                rows.append(_correlation_row(found, level, figure, kind, layers, []))
    return rows


def _correlation_row(
    found: Calibration, level: Level, figure: Figure, kind: str, layers: Sequence[str], anchors: Sequence[str]
) -> Row:
    a, b = _both([(found.on_level(each, level, figure), found.on_target(each, anchors)) for each in layers])
    both = (correlate(a, b, np.random.default_rng(RESAMPLING_SEED), how) for how in (spearman, kendall))
    target = anchors[0] if anchors else "mean"
    return [f"{level.name}, {level.steps} steps", figure, kind, target, str(len(a)), *map(str, both)]


def what_if_rows(found: Calibration) -> list[Row]:
    """A row per number of steps, a cell per cheap anchor and for all: Spearman with the target's mean, by accuracy."""
    anchors = cheap_anchors(found)
    rows = []
    for step in sorted({level.steps for level in found.levels}):
        row = [str(step)]
        for chosen in (*([anchor] for anchor in anchors), anchors):
            pairs = [
                (found.score("cheap", each, chosen, step, "accuracy"), found.on_target(each)) for each in found.layers
            ]
            row.append(str(correlate(*_both(pairs), np.random.default_rng(RESAMPLING_SEED))))
        rows.append(row)
    return rows


def cheap_anchors(found: Calibration) -> list[str]:
    return list(dict.fromkeys(anchor for level in found.levels for anchor in level.anchors))


LEVEL_COLUMNS = [
    "stage",
    "anchors",
    "steps",
    "seconds a layer",
    "of the best, also best here",
    "of the best, turned down",
]


def level_rows(found: Calibration) -> list[Row]:
    """What a stage costs by itself, and what it would do to the layers that are the best quarter on the target."""
    best = best_layers({layer: found.on_target(layer) for layer in found.layers})
    rows = []
    for level in found.levels:
        here = {layer: found.on_level(layer, level) for layer in found.layers if found.on_target(layer) is not None}
        recalled = best & best_layers(here)
        lost = best & turned_down(found, level)
        cells = [f"{len(recalled)} of {len(best)}", f"{len(lost)} of {len(best)}"]
        rows.append([level.name, ", ".join(level.anchors), str(level.steps), _seconds(found, level), *cells])
    return rows


def best_layers(scores: dict[str, float | None]) -> set[str]:
    known = {layer: score for layer, score in scores.items() if score is not None}
    number = math.ceil(BEST_SHARE * len(known))
    return set(sorted(known, key=lambda layer: known[layer], reverse=True)[:number])


def turned_down(found: Calibration, level: Level) -> set[str]:
    """Who is below the stage's gate on one of its anchors."""
    return {
        layer
        for layer in found.layers
        if found.on_level(layer, level) is not None
        and any(
            (found.score("cheap", layer, [anchor], level.steps, "accuracy") or 0.0) < level.gate
            for anchor in level.anchors
        )
    }


def _seconds(found: Calibration, level: Level) -> str:
    """Training and looking of one layer for this stage alone, from its first step."""
    total = 0.0
    for anchor in level.anchors:
        here = [c for c in found.curves if c.trial.side == "cheap" and c.trial.anchor == anchor and c.steps]
        if not here:
            return "-"
        total += level.steps * math.fsum(c.seconds for c in here) / sum(c.steps for c in here)
    return f"{total:.1f}"


def _both(pairs: Iterable[tuple[float | None, float | None]]) -> tuple[list[float], list[float]]:
    """The pairs of which both sides are known."""
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [a for a, _ in known], [b for _, b in known]


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{100 * score:.1f}"
