"""With clipped gradients, do the small nets still need a last gamma that starts small (docs/models.md)?

    python -m studies.clipping.last_gamma             # what is kept
    FRESH=1 python -m studies.clipping.last_gamma     # trains anew, 15 minutes of one core; goes on after a stop

The same trainings as `study.py` with gradients clipped at 1, but the last gamma starts at 1, as it does officially.
Copy the kept results to `runs/studies/clipping/fresh` first: the small start is among them.
"""

import statistics
from pathlib import Path
from typing import Any

import torch
from torch import nn

from evonorm.fitness import number_of_threads
from evonorm.foundation import estimate
from evonorm.journal import KeptResults
from evonorm.pictures import markdown_table
from evonorm.runner import kept_results, read_fitness_recipe
from evonorm.training import keep_freed_memory
from studies.clipping.study import ANCHORS, SEEDS, Job, train
from studies.kept_or_fresh import STUDIES, fresh, scratch

LAYERS = ("bn-relu", "bn-silu", "evonorm-b0", "evonorm-b2", "evonorm-s0")


def whole_gamma(model: nn.Module) -> None:
    """The last gamma as officially: 1."""
    last = model.last_layer if hasattr(model, "last_layer") else model.head_layer
    with torch.no_grad():
        last.weight.fill_(1.0)


def question(job: Job) -> dict[str, Any]:
    return {**job.question(), "last_gamma": 1.0}


def train_missing(kept: KeptResults) -> None:
    keep_freed_memory()
    recipe = read_fitness_recipe(Path("studies/first_laptop.toml"))
    with number_of_threads(1):
        for job in jobs():
            if kept.find(question(job)) is None:
                answer = train(job, recipe, whole_gamma)
                kept.keep(question(job), answer)
                print(f"{job}: {answer['averaged']} ({answer['seconds']:.0f} s)", flush=True)


def jobs() -> list[Job]:
    return [Job(layer, anchor, seed, 1.0) for seed in SEEDS for anchor in ANCHORS for layer in LAYERS]


def row(kept: KeptResults, layer: str, anchor: str) -> list[str]:
    """Accuracy of averaged weights with either start, in %, and their difference, paired by seed."""
    whole, small = [], []
    for job in (each for each in jobs() if (each.layer, each.anchor) == (layer, anchor)):
        answers = kept.find(question(job)), kept.find(job.question())
        if all(answers):
            for answer, values in zip(answers, (whole, small), strict=True):
                values.append(100 * answer["averaged"]["accuracy"] if answer["averaged"] else 10.0)
    if len(whole) < 2:
        return [layer, anchor, str(len(whole)), "-", "-", "-"]
    less = estimate([one - other for one, other in zip(whole, small, strict=True)])
    means = (f"{statistics.fmean(values):.1f}" for values in (small, whole))
    return [layer, anchor, str(len(whole)), *means, f"{less.mean:+.1f} [{less.low:+.1f}, {less.high:+.1f}]"]


def main() -> None:
    kept = kept_results(scratch("clipping") if fresh() else STUDIES / "clipping")
    if fresh():
        train_missing(kept)
    else:
        print(f"What is kept in {kept.path}; nothing is trained. FRESH=1 trains anew.")
    heads = ["layer", "net", "n", "small start, %", "start at 1, %", "difference"]
    print(markdown_table(heads, [row(kept, layer, anchor) for anchor in ANCHORS for layer in LAYERS]))


if __name__ == "__main__":
    main()
