"""The paper's ImageNet tables, and their miniatures on a few classes of Tiny-ImageNet.

    python -m studies.photos.study layers                                   # what is kept of a miniature
    FRESH=1 python -m studies.photos.study layers --data FOLDER             # trains it anew; goes on after a stop
    python -m studies.photos.study b --imagenet                             # what the paper's table would cost
    FRESH=1 python -m studies.photos.study b --imagenet --data IMAGENET --workers 8

Miniatures: layers, batch-sizes, gn-silu, trade-off, structure. Of the paper: b, s, batch-sizes, gn-silu, trade-off,
structure. Every training is one of `evonorm train`; several machines can each do some of the list into files of
their own, which `cat` joins.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from evonorm.cli.training_bars import training_bars
from evonorm.foundation import estimate
from evonorm.journal import KeptResults
from evonorm.pictures import markdown_table, write_figures
from evonorm.runner import Training, changed_settings, kept_results, train_all, trained_from
from evonorm.training import EpochSize
from studies.kept_or_fresh import STUDIES, fresh, scratch
from studies.photos.cells import Cell, Cells
from studies.photos.costs import COLUMNS, cost_rows
from studies.photos.figures import figures
from studies.photos.tables import IMAGENET, TINY, Column, Table

PHOTOS_HERE = 10_000  # of the twenty classes that the kept miniatures were trained on


def difference(ours: Cell, theirs: Cell) -> str:
    """The mean over common seeds of ours less theirs, with its 95 % interval: the same seed has the same photos."""
    common = sorted(ours.values.keys() & theirs.values.keys())
    if ours.layer == theirs.layer or len(common) < 2:
        return ""
    found = estimate([ours.values[seed] - theirs.values[seed] for seed in common])
    return f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"


def cells(table: Table, kept: KeptResults, photos: int) -> Cells:
    """What is kept of a table, whoever has trained it: by everything that decides a training but the photos' names."""
    records = [(_but_photos(each["question"]), each["answer"]) for each in kept.records()]
    found = {}
    for column in table.columns:
        for layer in table.layers:
            wanted = {seed: _wanted(column, layer, seed, photos) for seed in range(table.seeds)}
            trained = {
                seed: trained_from(answer)
                for seed, question in wanted.items()
                for asked, answer in records
                if asked == question
            }
            found[layer, column.name] = Cell(layer, column, trained)
    return found


def _wanted(column: Column, layer: str, seed: int, photos: int) -> dict[str, Any]:
    recipe = column.load(seed)
    recipe = replace(recipe, training=recipe.training.in_steps(EpochSize(photos, recipe.settings.images_per_worker)))
    parts = {"what": "train", "layer": layer, "task": recipe.task, "seed": seed, "threads": recipe.threads}
    tables = {"settings": changed_settings(recipe.settings), "training": changed_settings(recipe.training)}
    return _but_photos({**parts, **tables})


def _but_photos(question: dict[str, Any]) -> dict[str, Any]:
    left_out = ("photos", "data", "loaders", "evaluation_batch")
    settings = {key: value for key, value in question.get("settings", {}).items() if key not in left_out}
    return {**question, "settings": settings}


def rows(table: Table, found: Cells) -> list[list[str]]:
    return [
        [
            f"`{layer}`",
            *(
                text
                for column in table.columns
                for text in (
                    str(found[layer, column.name]),
                    difference(found[layer, column.name], found[table.layers[0], column.name]),
                )
            ),
        ]
        for layer in table.layers
    ]


def heads(table: Table) -> list[str]:
    return ["layer", *(head for each in table.columns for head in (f"{each.name}, %", f"less {table.layers[0]}"))]


def train_missing(table: Table, kept: KeptResults, data: Path, workers: int) -> None:
    trainings = [
        Training(layer, column.load(seed, data).in_steps())
        for seed in range(table.seeds)
        for column in table.columns
        for layer in table.layers
    ]
    steps = sum(each.recipe.training.steps for each in trainings)
    with training_bars(steps) as bars:
        train_all(trainings, kept, workers, bars.watch, bars.on_found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted({*IMAGENET, *TINY}))
    parser.add_argument("--imagenet", action="store_true", help="the paper's own table instead of the miniature")
    parser.add_argument("--data", type=Path, help="a folder in ImageNet's layout, to train on")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--workers", type=int, default=1, help="trainings at a time")
    chosen = parser.parse_args()
    family, tables = ("imagenet", IMAGENET) if chosen.imagenet else ("tiny-imagenet", TINY)
    if chosen.table not in tables:
        parser.error(f"{chosen.table} is not a table of {family}; there are {', '.join(tables)}.")
    table = tables[chosen.table].at(family)
    table = replace(table, seeds=chosen.seeds or table.seeds)
    if chosen.imagenet:
        print(f"{table.title}: what it costs at an assumed 30 (ResNets) and 3 (others) 10^12 multiply-adds/s a GPU\n")
        print(markdown_table(COLUMNS, cost_rows(table)))
    kept = kept_results(scratch("photos")) if fresh() else kept_results(STUDIES / "photos")
    if fresh():
        if chosen.data is None:
            parser.error("FRESH=1 trains: name the photos with --data FOLDER.")
        train_missing(table, kept, chosen.data, chosen.workers)
    photos = PHOTOS_HERE if chosen.data is None else len(table.columns[0].load(0, chosen.data).settings.photos.training)
    found = cells(table, kept, photos)
    if not any(cell.trained for cell in found.values()):
        return
    print(f"\n{table.title}; mean ± spread over n seeds; differences paired by seed, 95 % intervals\n")
    print(markdown_table(heads(table), rows(table, found)))
    write_figures(figures(chosen.table, table, found), scratch("photos"))


if __name__ == "__main__":
    main()
