"""What the kept trainings of the two calibrations say: accuracies, and rank correlations with the target.

    python -m studies.calibration.study

Layers that were trained to 400 steps on ResNet50-CIFAR and MobileNetV2-CIFAR (EfficientNet-B0 has only some of them),
each beside its short trainings on small nets; seed 0 of each.
"""

from collections.abc import Sequence
from pathlib import Path

from evonorm.graph import CATALOG
from evonorm.pictures import markdown_table
from evonorm.runner import (
    TARGET_STEPS,
    Calibration,
    Curve,
    Level,
    cheap_anchors,
    kept_curves,
    kept_results,
    score_columns,
    score_rows,
    what_if_rows,
)

TARGET = Level("target", ("resnet50-cifar", "mobilenetv2-cifar"), TARGET_STEPS)
NETS = ("mobilenet-nano", "resnet-nano", "efficientnet-nano")
STAGES = {
    "The first calibration's nets": tuple(Level("nano", NETS, steps) for steps in (60, 150)),
    "The second's, thin but deep": tuple(Level("thin", ("mobilenet-thin",), steps) for steps in (60, 150)),
}


def calibration(curves: Sequence[Curve], levels: tuple[Level, ...]) -> Calibration:
    """Of the layers that have all of these levels and the target."""
    every = tuple(dict.fromkeys(curve.trial.layer for curve in curves))
    whole = Calibration({"all": every}, levels, TARGET, tuple(curves))
    layers = [
        each
        for each in every
        if whole.on_target(each) is not None and all(whole.on_level(each, level) is not None for level in levels)
    ]
    kinds = {
        "named": tuple(each for each in layers if each in CATALOG),
        "others": tuple(each for each in layers if each not in CATALOG),
    }
    return Calibration(kinds, levels, TARGET, whole.curves)


def show(found: Calibration) -> None:
    """As Markdown: accuracies in %, then Spearman's correlation with the target's mean, by accuracy."""
    print(markdown_table(score_columns(found), score_rows(found)))
    print(markdown_table(["steps", *cheap_anchors(found), "all of them"], what_if_rows(found)))


def main() -> None:
    kept = kept_results(Path("studies/calibration"))
    curves = [curve for curve in kept_curves(kept) if curve.trial.seed == 0]
    print(f"{len(curves)} trainings are kept in {kept.path}; nothing is trained. FRESH=1 run.sh trains anew.\n")
    for title, levels in STAGES.items():
        found = calibration(curves, levels)
        print(f"{title}, n = {len(found.layers)} layers\n")
        show(found)


if __name__ == "__main__":
    main()
