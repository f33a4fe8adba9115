"""What clipped gradients, averaged weights and paired seeds do to the proxy: does it order layers better?

    python -m studies.clipping.study              # what is kept
    FRESH=1 python -m studies.clipping.study      # trains anew; goes on where it was stopped

The layers of the calibration and the two best found ones, 150 steps of the laptop recipe on its three nets, three
seeds, gradient norms clipped at 1, at 2 or not at all. Every training is judged at its last step, by the average of its
weights over the last 40 steps (decay 0.9), and by its training loss; moments are estimated anew for every look.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from evonorm.data import whole_batches
from evonorm.fitness import FitnessRecipe, ProxyTask, number_of_threads
from evonorm.journal import KeptResults, Question
from evonorm.pictures import markdown_table
from evonorm.runner import correlate, kept_curves, kept_results, read_fitness_recipe, spearman
from evonorm.training import TrainingRun, keep_freed_memory, reestimated_moments
from studies.kept_or_fresh import STUDIES, fresh, results

LOOKS, LAST, DECAY, PICTURES = (20, 60, 150), 40, 0.9, 2000
ANCHORS = ("mobilenet-thin", "resnet-nano", "efficientnet-nano")
TARGET = ("resnet50-cifar", "mobilenetv2-cifar")
CLIPS, SEEDS = (0.0, 1.0, 2.0), (0, 1, 2)  # 0: not clipped
FOUND = {  # the two best of the first round, with their targets: mean of two seeds at 400 steps (studies/validation)
    "x / (std_bwh(x + tanh(v1)) / sigmoid(x + tanh(v1)))": (0.482, 0.440),
    "x / (std_bwh(abs(abs(x))) / max(tanh(sigmoid(x)), v0))": (0.496, 0.467),
}
SPREADS = ("of layers", "of seeds, paired", "of seeds, unpaired", "share of the layer, paired")
JUDGES: dict[str, Callable[[dict[str, Any]], float]] = {
    "accuracy, last step, 1,000 pictures": lambda answer: answer["looks"]["150"]["accuracy_1000"],
    "accuracy, last step": lambda answer: answer["looks"]["150"]["accuracy"],
    "accuracy, averaged weights": lambda answer: answer["averaged"]["accuracy"],
    "validation loss, averaged weights": lambda answer: -answer["averaged"]["loss"],
    "training loss, last 50 steps": lambda answer: -statistics.fmean(answer["losses"][-50:]),
}


@dataclass(frozen=True)
class Job:
    """One layer on one net with one seed and one clipping."""

    layer: str
    anchor: str
    seed: int
    clip: float

    def question(self) -> Question:
        settings = {"looks": list(LOOKS), "last": LAST, "decay": DECAY, "pictures": PICTURES}
        return {"what": "clipping", **vars(self), **settings}


def leave_alone(_: nn.Module) -> None:
    """The model as it is."""


class Averaged:
    """The moving average of a model's weights over its last steps."""

    def __init__(self, model: nn.Module) -> None:
        self.weights = list(model.parameters())
        self.average: list[Tensor] = []

    @torch.no_grad()
    def after_step(self, run: TrainingRun) -> None:
        if run.step == LOOKS[-1] - LAST:
            self.average = [weight.clone() for weight in self.weights]
        elif run.step > LOOKS[-1] - LAST:
            torch._foreach_lerp_(self.average, self.weights, 1 - DECAY)

    @torch.no_grad()
    def put_in(self) -> None:
        torch._foreach_copy_(self.weights, self.average)


def train(job: Job, recipe: FitnessRecipe, prepare: Callable[[nn.Module], None] = leave_alone) -> dict[str, Any]:
    """What comes of it; the model may be changed before the first step."""
    task = ProxyTask(job.layer, job.anchor, recipe, job.seed)
    prepare(task.model)
    averaged, norms, looks, start = Averaged(task.model), [], {}, time.perf_counter()

    def clip(*_: object) -> None:
        norms.append(float(nn.utils.clip_grad_norm_(averaged.weights, job.clip or math.inf)))

    for optimizer in task.run.optimizers.values():
        optimizer.register_step_pre_hook(clip)
    for step in LOOKS:
        ending = task.run.advance(step, on_step=averaged.after_step)
        if ending != "reached":
            break
        looks[str(step)] = judged(task)
    else:
        averaged.put_in()
    return {
        "ending": ending,
        "step": task.run.step,
        "looks": looks,
        "averaged": judged(task) if ending == "reached" else None,
        "seconds": round(time.perf_counter() - start, 2),
        "losses": [round(loss, 4) for loss in task.run.losses],
        "norms": [float(f"{norm:.4g}") for norm in norms],
    }


@torch.no_grad()
def judged(task: ProxyTask) -> dict[str, float]:
    """Accuracy and loss on the validation pictures, moments estimated anew; accuracy on the first 1,000 as well."""
    coming = (task.batch(task.run.step + i, 0, 0)[0] for i in range(task.recipe.moment_batches))
    chosen = replace(task.data.validation, rows=task.data.validation.rows[:PICTURES])
    with reestimated_moments(task.model, coming):
        task.model.eval()
        found = [(task.model(x), y) for x, y in whole_batches(chosen, 125, task.data.mean, task.data.std)]
    task.model.train()
    logits, labels = (torch.cat(each) for each in zip(*found, strict=True))
    right = ((logits.argmax(1) == labels) & torch.isfinite(logits).all(1)).double()
    loss = F.cross_entropy(logits, labels).item()
    return {"accuracy": right.mean().item(), "accuracy_1000": right[:1000].mean().item(), "loss": loss}


def targets() -> dict[str, float]:
    """Each layer's mean accuracy after 400 steps on the two anchors that all were trained on."""
    curves = [curve for curve in kept_curves(kept_results(STUDIES / "calibration")) if curve.trial.side == "target"]
    cheap = {curve.trial.layer for curve in kept_curves(kept_results(STUDIES / "calibration"))
             if curve.trial.anchor == "mobilenet-thin"}  # fmt: skip
    found = {
        layer: statistics.fmean(c.looks[-1].accuracy or 0.1 for c in curves
                                if c.trial.layer == layer and c.trial.anchor in TARGET)
        for layer in dict.fromkeys(curve.trial.layer for curve in curves) if layer in cheap
    }  # fmt: skip
    return found | {layer: statistics.fmean(accuracies) for layer, accuracies in FOUND.items()}


def jobs(clips: Sequence[float]) -> list[Job]:
    return [
        Job(layer, anchor, seed, clip) for seed in SEEDS for clip in clips for anchor in ANCHORS for layer in targets()
    ]


def answers(clips: Sequence[float]) -> dict[Job, dict[str, Any]]:
    """What every training gave, kept or just now."""
    every = jobs(clips)
    kept = results("clipping")
    kept.expect([job.question() for job in every], "trainings")
    if fresh():
        train_missing(every, kept)
    return {job: kept.find(job.question()) or {} for job in every}


def train_missing(every: Sequence[Job], kept: KeptResults) -> None:
    keep_freed_memory()
    recipe = read_fitness_recipe(Path("studies/first_laptop.toml"))
    missing = [job for job in every if kept.find(job.question()) is None]
    with number_of_threads(1):
        for number, job in enumerate(missing, start=1):
            answer = train(job, recipe)
            kept.keep(job.question(), answer)
            print(f"{number} of {len(missing)}: {job}: {answer['averaged']} ({answer['seconds']:.0f} s)", flush=True)


def scores(found: dict[Job, dict[str, Any]], judge: str, clip: float, seed: int, layers: Sequence[str]) -> list[float]:
    """The mean over the nets; a training that broke off counts as one that learnt nothing."""

    def score(layer: str, anchor: str) -> float:
        answer = found[Job(layer, anchor, seed, clip)]
        worst = -math.log(10) - 1 if "loss" in judge else 0.1
        return JUDGES[judge](answer) if answer.get("averaged") else worst

    return [statistics.fmean(score(layer, anchor) for anchor in ANCHORS) for layer in layers]


def rows(found: dict[Job, dict[str, Any]], clips: Sequence[float], best: float) -> list[list[str]]:
    """Spearman with the target for each seed, and of the mean over seeds with a bootstrap interval over layers."""
    truth = {layer: value for layer, value in targets().items() if value >= best}
    layers, target = list(truth), list(truth.values())
    table = []
    for clip in clips:
        for judge in JUDGES:
            by_seed = [scores(found, judge, clip, seed, layers) for seed in SEEDS]
            each = [f"{spearman(one, target):.2f}" for one in by_seed]
            means = [statistics.fmean(one) for one in zip(*by_seed, strict=True)]
            whole = correlate(means, target, np.random.default_rng(0))
            table.append(["none" if not clip else f"{clip:g}", judge, *each, str(whole)])
    return table


def reliability_rows(found: dict[Job, dict[str, Any]], clips: Sequence[float], best: float) -> list[list[str]]:
    """How much of one score is the layer: spread of layers against the spread of seeds, paired and not, in points."""
    layers = [layer for layer, value in targets().items() if value >= best]
    table = []
    for clip in clips:
        for judge in JUDGES:
            each = 100 * np.array([scores(found, judge, clip, seed, layers) for seed in SEEDS]).T
            table.append(["none" if not clip else f"{clip:g}", judge, *reliability(each)])
    return table


def reliability(each: NDArray[np.float64]) -> list[str]:
    """Of (layers, seeds): spread of layers, of seeds paired, of seeds unpaired, and the share of one score, paired."""
    layers, seeds = each.shape
    own = each.mean(1, keepdims=True)
    residual = each - own - each.mean(0) + each.mean()
    noise = np.square(residual).sum() / ((layers - 1) * (seeds - 1))
    between = max(0.0, own.var(ddof=1) - noise / seeds)
    unpaired = np.square(each - own).sum() / (layers * (seeds - 1))
    spreads = (f"{math.sqrt(value):.2f}" for value in (between, noise, unpaired))
    return [*spreads, f"{between / (between + noise):.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=float, nargs="+", default=list(CLIPS[:2]), help="0: none; kept are 0 and 1")
    clips = parser.parse_args().clips
    found = answers(clips)
    columns = ["clip", "judge", *(f"seed {seed}" for seed in SEEDS), "mean over seeds"]
    for title, best in (("all layers", 0.0), ("layers above 43 % at the target", 0.43)):
        print(f"\nSpearman with 400 steps on {' and '.join(TARGET)}, {title}\n")
        print(markdown_table(columns, rows(found, clips, best)))
        print(f"\nReliability of one score, {title}; spreads in points (losses: hundredths)\n")
        print(markdown_table(["clip", "judge", *SPREADS], reliability_rows(found, clips, best)))


if __name__ == "__main__":
    main()
