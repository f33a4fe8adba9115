"""One training step of the full-size models at full size, on real photos, by each recipe of ImageNet.

    python -m benchmarks.photo_steps FOLDER                        # a folder of classes with photos
    python -m benchmarks.photo_steps FOLDER --images 16 --recipes resnet50 resnet50:aug+2x+cos

A logical worker's share of a step, with fewer images than the paper's 128 (the machine has no GPU): decoding, crop,
augmentation, forward, backward, update, average, in the recipe's precision. Each in a process of its own, so that peak
memory is its own; "before" is what the process holds before the first step.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.timing import machine
from evonorm.runner import load_task_recipe
from evonorm.tasks import PhotoTask
from evonorm.training import TrainingRun, keep_freed_memory

RECIPES = ("resnet50", "resnet50:aug", "resnet50:aug+2x", "resnet50:aug+2x+cos", "mobilenetv2", "mobilenetv2:s",
           "mnasnet", "efficientnet-b0", "efficientnet-b5")  # fmt: skip
LAYERS = ("bn-relu", "evonorm-b0", "evonorm-s0")
STEPS = 3  # the first one, whose rate is zero, is not timed


def one(recipe: str, layer: str, folder: str, images: int, precision: str | None) -> dict[str, float]:
    name, _, variant = recipe.partition(":")
    changes = [f"settings.data={folder}", f"settings.images_per_worker={images}", "settings.loaders=0"]
    changes += ["training.workers=1", *([f"training.precision={precision}"] if precision else [])]
    chosen = load_task_recipe(Path("imagenet") / name, changes, variant or None).in_steps()
    keep_freed_memory()
    torch.set_num_threads(chosen.threads)
    run = TrainingRun(PhotoTask(layer, chosen.settings, chosen.training, 0), chosen.training, 0)
    before = _peak()
    run.advance(1)
    seconds = run.seconds
    run.advance(STEPS)
    pace = (run.seconds - seconds) / (STEPS - 1)
    return {"loss": run.losses[-1], "seconds": pace, "before": before, "peak": _peak()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--recipes", nargs="+", default=RECIPES)
    parser.add_argument("--layers", nargs="+", default=LAYERS)
    parser.add_argument("--precision", help="instead of the recipe's")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        found = one(chosen.recipes[0], chosen.layers[0], str(chosen.folder), chosen.images, chosen.precision)
        print(json.dumps(found))
        return
    print(machine("kept"))
    print(f"{'recipe':24}{'layer':12}{'images':>7}{'loss':>8}{'images/s':>10}{'before, GB':>12}{'peak, GB':>10}")
    with tempfile.TemporaryDirectory() as place:
        for part in ("train", "val"):
            (Path(place) / part).symlink_to(chosen.folder.absolute())
        for recipe in chosen.recipes:
            images = max(2, chosen.images // 4) if "b5" in recipe else chosen.images
            for layer in chosen.layers:
                print_one(recipe, layer, place, images, chosen.precision)


def print_one(recipe: str, layer: str, place: str, images: int, precision: str | None) -> None:
    words = ["--one", "--recipes", recipe, "--layers", layer, "--images", str(images)]
    words += ["--precision", precision] if precision else []
    command = [sys.executable, "-m", "benchmarks.photo_steps", place, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this very file)
    found = json.loads(done.stdout)
    assert math.isfinite(found["loss"])
    print(
        f"{recipe:24}{layer:12}{images:7}{found['loss']:8.3f}{images / found['seconds']:10.2f}"
        f"{found['before']:12.2f}{found['peak']:10.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
