"""The paper's ImageNet tables, and their miniatures on a few classes of Tiny-ImageNet.

    python -m studies.photos.study layers                                   # what is kept of a miniature
    FRESH=1 python -m studies.photos.study layers --data FOLDER             # trains it anew; goes on after a stop
    python -m studies.photos.study b --imagenet                             # what the paper's table would cost
    FRESH=1 python -m studies.photos.study b --imagenet --data IMAGENET --workers 8

Miniatures: layers, batch-sizes, gn-silu, trade-off, structure, and rerank-b, rerank-s: the ten best of the first
round's searches in three models. Of the paper: b, s, batch-sizes, gn-silu, trade-off, structure. Every training is one
of `evonorm train`; several machines can each do some of the list into files of their own, which `cat` joins.
"""

import argparse
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np

from evonorm.cli.training_bars import training_bars
from evonorm.data import open_photo_folder
from evonorm.journal import KeptResults
from evonorm.pictures import markdown_table, write_figures
from evonorm.runner import Training, correlate, kept_results, train_all
from studies.kept_or_fresh import STUDIES, fresh, scratch
from studies.photos.cells import Cells, difference, find_cells
from studies.photos.costs import COLUMNS, cost_rows
from studies.photos.figures import figures
from studies.photos.tables import NAMES, RERANKS, Table, find_table

PHOTOS_HERE = 10_000  # of the twenty classes that the kept miniatures were trained on


def rows(table: Table, found: Cells) -> list[list[str]]:
    """A row a layer: in every column its accuracy, and what it is less the reference's."""
    return [[f"`{layer}`", *(text for column in table.columns for text in _pair(table, found, layer, column.name))]
            for layer in table.layers]  # fmt: skip


def _pair(table: Table, found: Cells, layer: str, column: str) -> tuple[str, str]:
    mine = found[layer, column]
    return str(mine), difference(mine, found[table.reference, column])


def heads(table: Table) -> list[str]:
    return ["layer", *(head for each in table.columns for head in (f"{each.name}, %", f"less {table.reference}"))]


def order_rows(table: Table, found: Cells) -> list[list[str]]:
    """The best first, by the mean over columns and seeds: of each column, of all, and of every seed."""
    means = {layer: _means_by_seed(table, found, layer) for layer in table.layers}
    trained = [layer for layer in table.layers if means[layer]]
    trained.sort(key=lambda layer: statistics.fmean(means[layer].values()), reverse=True)
    return [[f"`{layer}`", *_order_cells(table, found, layer, means[layer])] for layer in trained]


def _order_cells(table: Table, found: Cells, layer: str, means: dict[int, float]) -> list[str]:
    columns = [statistics.fmean(found[layer, each.name].values[seed] for seed in means) for each in table.columns]
    return [f"{value:.1f}" for value in (*columns, statistics.fmean(means.values()), *means.values())]


def how_sure(table: Table, found: Cells) -> str:
    """Whether the order is more than noise: the rank correlation of two seeds' means over the same layers."""
    means = {layer: _means_by_seed(table, found, layer) for layer in table.layers}
    pairs = [(each[0], each[1]) for each in means.values() if {0, 1} <= each.keys()]
    if len(pairs) < 3:
        return "one seed: nothing tells the order from noise."
    first, second = zip(*pairs, strict=True)
    return f"Spearman between the seeds, {len(pairs)} layers: {correlate(first, second, np.random.default_rng(0))}"


def _means_by_seed(table: Table, found: Cells, layer: str) -> dict[int, float]:
    """Over all columns, of the seeds that were trained in all of them."""
    cells = [found[layer, column.name].values for column in table.columns]
    seeds = set(range(table.seeds)).intersection(*(each.keys() for each in cells))
    return {seed: statistics.fmean(each[seed] for each in cells) for seed in sorted(seeds)}


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


def show(name: str, table: Table, found: Cells) -> None:
    print(f"\n{table.title}; mean ± spread over n seeds; differences paired by seed, 95 % intervals\n")
    print(markdown_table(heads(table), rows(table, found)))
    if name in RERANKS:
        columns = ["layer", *(each.name for each in table.columns), "mean", *(f"seed {n}" for n in range(table.seeds))]
        print(f"\n{markdown_table(columns, order_rows(table, found))}\n\n{how_sure(table, found)}")
    if name == "batch-sizes" and len(table.columns) > 1:
        first, last = table.columns[0].name, table.columns[-1].name
        falls = [[f"`{layer}`", difference(found[layer, last], found[layer, first])] for layer in table.layers]
        print(f"\n{markdown_table(['layer', f'{last} less {first}, the same seeds'], falls)}")
    write_figures(figures(name, table, found), scratch("photos"))


def show_cost(table: Table) -> None:
    print(f"{table.title}: what it costs at an assumed 30 (ResNets) and 3 (others) 10^12 multiply-adds/s a GPU\n")
    print(markdown_table(COLUMNS, cost_rows(table)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted({name for names in NAMES.values() for name in names}))
    parser.add_argument("--imagenet", action="store_true", help="the paper's own table instead of the miniature")
    parser.add_argument("--data", type=Path, help="a folder in ImageNet's layout, to train on")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--columns", nargs="+", help="only these of the table, such as mobilenetv2 or '4 images'")
    parser.add_argument("--layers", nargs="+", help="only these of the table")
    parser.add_argument("--workers", type=int, default=1, help="trainings at a time")
    chosen = parser.parse_args()
    family = "imagenet" if chosen.imagenet else "tiny-imagenet"
    if chosen.table not in NAMES[family]:
        parser.error(f"{chosen.table} is not a table of {family}; there are {', '.join(NAMES[family])}.")
    if fresh() and chosen.data is None:
        parser.error("FRESH=1 trains: name the photos with --data FOLDER.")
    try:
        table = find_table(family, chosen.table).part(chosen.layers, chosen.columns)
    except ValueError as error:
        parser.error(str(error))
    table = replace(table, seeds=chosen.seeds or table.seeds)
    if chosen.imagenet:
        show_cost(table)
    kept = kept_results(scratch("photos") if fresh() else STUDIES / "photos")
    if fresh():
        train_missing(table, kept, chosen.data, chosen.workers)
    else:
        there = len(list(kept.records()))
        print(f"{there} trainings are kept in {kept.path}; nothing is trained. FRESH=1 with --data FOLDER trains anew.")
    photos = len(open_photo_folder(chosen.data).training) if chosen.data else PHOTOS_HERE
    found = find_cells(table, kept, photos)
    if any(cell.trained for cell in found.values()):
        show(chosen.table, table, found)


if __name__ == "__main__":
    main()
