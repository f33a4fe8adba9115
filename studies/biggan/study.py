"""Six layers in the generator of a small BigGAN-deep on CIFAR-10: the paper's GAN table in small.

    python -m studies.biggan.study              # what is kept
    FRESH=1 python -m studies.biggan.study      # trains anew, 27 to 50 minutes of one core each; goes on after a stop

As in the paper's table: the best checkpoint of every seed, then the median and the best of the seeds. Beside it the
last checkpoint, less BN-ReLU's of the same seed, with an interval; an order is claimed only where zero is not in it.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from evonorm.cli.training_bars import training_bars
from evonorm.foundation import estimate
from evonorm.journal import KeptResults
from evonorm.pictures import Axes, Figure, Line, line_chart, markdown_table, write_figures
from evonorm.runner import TaskRecipe, Trained, Training, kept_results, load_task_recipe, train_all, trained_from
from studies.kept_or_fresh import STUDIES, fresh, scratch

STUDY = "biggan"
REFERENCE = "bn-relu"
LAYERS = (REFERENCE, "evonorm-b0", "evonorm-s0", "gn-relu", "ln-relu", "pixelnorm-relu")
PAPER = {  # FID of BigGAN-deep at 128x128, median and best of three seeds, or one
    "bn-relu": "7.85 / 7.29",
    "evonorm-b0": "6.91 / 5.87",
    "evonorm-s0": "6.86 / 6.26",
    "gn-relu": "8.14",
    "ln-relu": "8.35",
    "pixelnorm-relu": "10.41",
}
Found = dict[str, dict[int, Trained]]  # by layer and seed


def recipe(seed: int) -> TaskRecipe:
    return load_task_recipe(Path("gan/cifar10"), (f"seed={seed}",))


def train_missing(kept: KeptResults, layers: Sequence[str], seeds: Sequence[int]) -> None:
    trainings = [Training(layer, recipe(seed).in_steps()) for seed in seeds for layer in layers]
    with training_bars(sum(each.recipe.training.steps for each in trainings)) as bars:
        train_all(trainings, kept, 1, bars.watch, bars.on_found)


def find_trained(kept: KeptResults) -> Found:
    found: Found = {layer: {} for layer in LAYERS}
    for record in kept.records():
        question = record["question"]
        found[question["layer"]][question["seed"]] = trained_from(record["answer"])
    return found


def curve(trained: Trained, what: str) -> list[tuple[int, float]]:
    """Of FID or KID, whose names go on with samples, pictures and precision."""
    return next(points for name, points in trained.measured.items() if name.startswith(what))


def best_of(found: Found, layer: str, what: str) -> list[float]:
    """Of every seed the best checkpoint."""
    return [min(value for _, value in curve(each, what)) for each in found[layer].values()]


def less_reference(found: Found, layer: str, what: str = "FID") -> str:
    """The last checkpoint less the reference's, paired by seed."""
    mine, theirs = found[layer], found[REFERENCE]
    common = sorted(mine.keys() & theirs.keys())
    if layer == REFERENCE or len(common) < 2:
        return ""
    less = estimate([curve(mine[seed], what)[-1][1] - curve(theirs[seed], what)[-1][1] for seed in common])
    return f"{less.mean:+.1f} [{less.low:+.1f}, {less.high:+.1f}]"


def rows(found: Found) -> list[list[str]]:
    table = []
    for layer in (each for each in LAYERS if found[each]):
        fid, kid = best_of(found, layer, "FID"), best_of(found, layer, "KID")
        table.append(
            [
                f"`{layer}`",
                str(len(fid)),
                f"{statistics.median(fid):.1f} / {min(fid):.1f}",
                f"{1000 * statistics.median(kid):.1f} / {1000 * min(kid):.1f}",
                less_reference(found, layer),
                PAPER[layer],
            ]
        )
    return table


def fid_curves(found: Found) -> Figure:
    """A line a layer: the mean over seeds, and from the least to the largest."""
    lines, data = [], []
    for layer in (each for each in LAYERS if found[each]):
        curves = [curve(each, "FID") for each in found[layer].values()]
        points = [(group[0][0], [value for _, value in group]) for group in zip(*curves, strict=False)]
        summaries = ([how(values) for _, values in points] for how in (statistics.fmean, min, max))
        lines.append(Line(layer, [float(step) for step, _ in points], *summaries))
        data += [(layer, seed, *each) for seed, trained in found[layer].items() for each in curve(trained, "FID")]
    title = "FID of a small BigGAN-deep on CIFAR-10"
    svg = line_chart(title, lines, Axes("step of the generator", "FID", x_whole=True))
    return Figure("fid", title, svg, ("layer", "seed", "step", "FID"), data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=LAYERS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    chosen = parser.parse_args()
    kept = kept_results(scratch(STUDY) if fresh() else STUDIES / STUDY)
    if fresh():
        train_missing(kept, chosen.layers, chosen.seeds)
    else:
        there = len(list(kept.records()))
        print(f"{there} trainings are kept in {kept.path}; nothing is trained. FRESH=1 trains anew.")
    found = find_trained(kept)
    if any(found.values()):
        heads = [
            "layer",
            "seeds",
            "FID, median / best",
            "1000 KID",
            "last FID less BN-ReLU's",
            "the paper's FID at 128",
        ]
        print(f"\n{markdown_table(heads, rows(found))}")
        write_figures([fid_curves(found)], scratch(STUDY))


if __name__ == "__main__":
    main()
