"""How many photos a second one core turns into pictures of a batch.

    taskset -c 0 python -m benchmarks.loader FOLDER [--photos 250] [--size 224]

FOLDER is in ImageNet's layout, or has class folders without train and val. One thread of this process, its own CPU time
and not the clock's, so that other work on the machine disturbs little; the better of two passes over the same photos,
which are spread over all classes. Pictures come out as bytes: normalizing is the device's work.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from evonorm.data import PhotoBatches, Photos, PictureSettings, open_class_folder, open_photo_folder, whole_photos
from evonorm.data.photos.decode import read_photo

PASSES = 2
BATCH = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photos", type=int, default=250)
    parser.add_argument("--size", type=int, default=224)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    photos = spread(arguments.folder, arguments.photos)
    print(f"torch {torch.__version__}, {platform.machine()}, one thread, {len(photos)} photos, {arguments.size} pixels")
    for name, run in measured(photos, arguments.size):
        print(f"{name:<34} {len(photos) / best(run):>7.0f} photos/s")


def spread(folder: Path, count: int) -> Photos:
    opened = (open_photo_folder if (folder / "train").is_dir() else open_class_folder)(folder).training
    rows = np.unique(np.linspace(0, len(opened) - 1, min(count, len(opened))).round().astype(np.int64))
    return Photos(opened.everything, opened.rows[rows])


def measured(photos: Photos, size: int) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "decoding alone", lambda: decode(photos)
    yield "crop, flip", lambda: train(photos, PictureSettings(size))
    yield "crop, flip, RandAugment 2, 9", lambda: train(photos, PictureSettings(size, augmentation="randaugment"))
    yield "crop, flip, AutoAugment v0", lambda: train(photos, PictureSettings(size, augmentation="autoaugment"))
    yield "TensorFlow's crop, flip", lambda: train(photos, PictureSettings(size, images="tf"))
    yield "evaluation", lambda: evaluate(photos, PictureSettings(size))


def decode(photos: Photos) -> None:
    for index in range(len(photos)):
        read_photo(photos.path(index))


def train(photos: Photos, settings: PictureSettings) -> None:
    batches = PhotoBatches(photos, settings, BATCH, workers=1, mine=range(1), seed=0, loaders=0)
    for step in range(-(-len(photos) // BATCH)):
        batches.batch(step)


def evaluate(photos: Photos, settings: PictureSettings) -> None:
    for _ in whole_photos(photos, settings, BATCH, rank=0, ranks=1, loaders=0):
        pass


def best(run: Callable[[], None]) -> float:
    """CPU seconds of the fastest pass."""
    times = []
    for _ in range(PASSES):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
