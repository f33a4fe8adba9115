"""Four layers in a small Mask R-CNN on 80 real pictures of COCO, measured on the pictures that it is trained on.

    python -m studies.objects.study                          # what is kept
    FRESH=1 python -m studies.objects.study --data COCO      # trains anew; goes on after a stop

It tells how fast a layer learns boxes and masks, not how good it is on pictures that nobody has seen: 80 pictures are
a thousandth of COCO. SpineNet-49S, narrow and shorter, is the last column.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from evonorm.cli.training_bars import training_bars
from evonorm.journal import KeptResults
from evonorm.pictures import markdown_table
from evonorm.runner import TaskRecipe, Trained, Training, kept_results, load_task_recipe, train_all, trained_from
from studies.kept_or_fresh import STUDIES, fresh, scratch

STUDY = "objects"
LAYERS = ("bn-relu", "gn-relu", "evonorm-b0", "evonorm-s0")
MEASURES = ("box AP", "box AP50", "mask AP", "mask AP50")


@dataclass(frozen=True)
class Net:
    """A detector and how long it is trained: changes of `coco/tiny`."""

    name: str
    changes: tuple[str, ...]

    def recipe(self, seed: int, data: Path | None = None) -> TaskRecipe:
        placed = (f"settings.data={data.absolute()}",) if data else ()
        return load_task_recipe(Path("coco/tiny"), (*self.changes, *placed, f"seed={seed}"))


def _length(steps: int) -> tuple[str, ...]:
    return f"training.steps={steps}", f"training.boundaries=[{steps * 4 // 5}]", f"training.validate_every={steps // 6}"


NETS = (
    Net("maskrcnn-nano", _length(6000)),
    Net("maskrcnn-spinenet49s", ("settings.model=maskrcnn-spinenet49s", "settings.width=0.25", *_length(1200))),
)


def train_missing(kept: KeptResults, data: Path, seeds: int, workers: int) -> None:
    trainings = [
        Training(layer, net.recipe(seed, data).in_steps()) for seed in range(seeds) for net in NETS for layer in LAYERS
    ]
    with training_bars(sum(each.recipe.training.steps for each in trainings)) as bars:
        train_all(trainings, kept, workers, bars.watch, bars.on_found)


def trained(kept: KeptResults, net: Net, layer: str) -> list[Trained]:
    """What is kept of a layer in a net, whoever has trained it, wherever the pictures are."""
    model, steps = net.recipe(0).settings.model, net.recipe(0).training.steps
    found = []
    for record in kept.records():
        question = record["question"]
        theirs = question["settings"]["model"], question["training"]["steps"]
        if (question["layer"], *theirs) == (layer, model, steps):
            found.append(trained_from(record["answer"]))
    return found


def rows(kept: KeptResults, net: Net) -> list[list[str]]:
    table = []
    for layer in LAYERS:
        for each in trained(kept, net, layer):
            last = [f"{each.measured[name][-1][1]:.3f}" for name in MEASURES]
            half = f"{each.measured['box AP'][len(each.measured['box AP']) // 2 - 1][1]:.3f}"
            loss = sum(each.losses[-50:]) / len(each.losses[-50:])
            table.append([layer, f"{loss:.2f}", half, *last, f"{each.seconds / each.steps:.2f}"])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a COCO folder, to train on")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="trainings at a time")
    chosen = parser.parse_args()
    if fresh() and chosen.data is None:
        parser.error("FRESH=1 trains: name the pictures with --data COCO.")
    kept = kept_results(scratch(STUDY) if fresh() else STUDIES / STUDY)
    if fresh():
        train_missing(kept, chosen.data, chosen.seeds, chosen.workers)
    else:
        there = len(list(kept.records()))
        print(f"{there} trainings are kept in {kept.path}; nothing is trained. FRESH=1 with --data COCO trains anew.")
    heads = ["layer", "loss at the end", "box AP half-way", *MEASURES, "s a step"]
    for net in NETS:
        print(f"\n{net.name}, {net.recipe(0).training.steps} steps of 4 pictures, measured on the same pictures\n")
        print(markdown_table(heads, rows(kept, net)))


if __name__ == "__main__":
    main()
