"""From a trained model with BatchNorm to the same model with EvoNorm: what is left before any step, and after some?

    python -m studies.fine_tune.study                              # what is kept
    FRESH=1 python -m studies.fine_tune.study                      # trains anew; goes on where it was stopped
    FRESH=1 python -m studies.fine_tune.study --photos FOLDER      # with the photos, which are not ours to ship

Converts the model as it is (naive), with calibrated layers, or not at all, and then trains it a little: with labels, or
with the old model as a teacher and no labels.
"""

import argparse
import copy
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import evonorm
from evonorm.conversion import imitate
from evonorm.journal import Question
from evonorm.pictures import markdown_table
from evonorm.runner import mean_and_spread
from evonorm.training import keep_freed_memory
from studies.fine_tune.sources import Pictures, cifar10, photos
from studies.kept_or_fresh import results

CALIBRATION = 64  # pictures
SEEDS = {"cifar10": 3, "photos": 3}
RATES = {"cifar10": 3e-4, "photos": 1e-4}


@dataclass(frozen=True)
class Case:
    """One conversion and a short training."""

    source: str  # "cifar10" or "photos"
    layer: str  # "bn": nothing is converted
    start: str  # "naive" or "calibrated"
    training: str  # "labels" or "teacher"
    seed: int
    groups: int = 1
    steps: int = 60

    @property
    def question(self) -> Question:
        return {"what": "fine-tune", **asdict(self), "pictures": CALIBRATION}


def cases(source: str) -> list[Case]:
    found = []
    for seed in range(SEEDS[source]):
        found += [
            Case(source, "bn", "naive", "labels", seed),
            Case(source, "evonorm-s0", "calibrated", "teacher", seed),
            Case(source, "evonorm-s0", "calibrated", "labels", seed),
            Case(source, "evonorm-s0", "naive", "labels", seed, groups=32),
            Case(source, "evonorm-b0", "calibrated", "teacher", seed),
        ]
        if source == "cifar10":  # photos take eight times as long
            found += [
                Case(source, "evonorm-b0", "naive", "labels", seed, groups=32),
                Case(source, "evonorm-s0", "calibrated", "teacher", seed, groups=32, steps=0),
                Case(source, "evonorm-s2", "calibrated", "teacher", seed, steps=0),
            ]
    return found


def answer_of(case: Case, old: nn.Module, pictures: Pictures) -> dict[str, Any]:
    start = time.process_time()
    model = copy.deepcopy(old)
    if case.layer != "bn":
        batch = pictures.calibration(CALIBRATION, case.seed) if case.start == "calibrated" else None
        example = pictures.train[0][:2]
        evonorm.convert(model, case.layer, example, groups=case.groups, calibrate=batch)
        if batch is None:  # the training below leaves moving moments as they are
            evonorm.update_moments(model, [pictures.calibration(CALIBRATION, case.seed)])
    at_start = pictures.accuracy(model)
    batches = list(pictures.batches(case.steps, case.seed))
    if case.steps and case.training == "teacher":
        imitate(model, old, batches, RATES[case.source])
    elif case.steps:
        with_labels(model, old, batches, RATES[case.source])
    accuracy = pictures.accuracy(model) if case.steps else at_start
    return {"at_start": at_start, "accuracy": accuracy, "seconds": time.process_time() - start}


def with_labels(model: nn.Module, old: nn.Module, batches: Sequence[Any], rate: float) -> None:
    """The same training as `imitate`, towards labels instead of the old model."""
    classes = old(batches[0][0][:1]).shape[1]

    class Labels(nn.Module):
        """A teacher that is sure; it gives labels in the order of the batches."""

        def __init__(self) -> None:
            super().__init__()
            self.labels = iter([labels for _, labels in batches])

        def forward(self, _: torch.Tensor) -> torch.Tensor:
            return 20.0 * F.one_hot(next(self.labels), classes)

    imitate(model, Labels(), batches, rate)


def trained(wanted: Sequence[Case], folder: Path | None) -> list[tuple[Case, dict[str, Any]]]:
    keep_freed_memory()
    kept, found = results("fine_tune"), []
    kept.expect([case.question for case in wanted], "fine-tunings")
    for case in wanted:
        answer = kept.find(case.question)
        if answer is None:
            old, pictures = cifar10(case.seed) if case.source == "cifar10" else photos(_given(folder))
            answer = answer_of(case, old, pictures)
            kept.keep(case.question, answer)
            print(case, answer, flush=True)
        found.append((case, answer))
    return found


def _given(folder: Path | None) -> Path:
    if folder is None:
        raise SystemExit("Give --photos FOLDER: class folders with ImageNet's names below train and val.")
    return folder


def rows(found: Sequence[tuple[Case, dict[str, Any]]]) -> list[list[str]]:
    """One for each way, over seeds: accuracy at the start, and after the training."""
    ways: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for case, answer in found:
        name = case.layer if case.layer == "bn" else f"{case.layer}, {case.start}, {case.groups} group(s)"
        way = (case.source, name, f"{case.steps} steps with {case.training}" if case.steps else "-")
        ways.setdefault(way, []).append(answer)
    return [
        [*way, str(len(of)), *(mean_and_spread([each[what] for each in of]) for what in ("at_start", "accuracy"))]
        for way, of in sorted(ways.items())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--source", choices=("cifar10", "photos"), action="append")
    options = parser.parse_args()
    sources = options.source or ["cifar10", "photos"]
    wanted = [case for source in sources for case in cases(source)]
    head = ["source", "layer", "training", "n", "at the start", "after it"]
    print(markdown_table(head, rows(trained(wanted, options.photos))))


if __name__ == "__main__":
    main()
