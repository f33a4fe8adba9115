"""The paper's figures of a table: curves of training, accuracy by batch size, accuracy against cost."""

import statistics
from collections.abc import Sequence

from evonorm.models import model_cost
from evonorm.pictures import Axes, Figure, Line, line_chart
from studies.photos.cells import Cells
from studies.photos.tables import Column, Table


def figures(name: str, table: Table, found: Cells) -> list[Figure]:
    if name == "trade-off":
        return [_trade_off(table, found)]
    if name == "batch-sizes":
        return [_by_batch(table, found)]
    return [figure for column in table.columns for figure in _curves(name, column, table.layers, found)]


def _curves(name: str, column: Column, layers: Sequence[str], found: Cells) -> list[Figure]:
    """Accuracy over epochs and the training loss, means over seeds (the paper's figure of training curves)."""
    accuracy, losses = [], []
    for layer in layers:
        trained = list(found[layer, column.name].trained.values())
        if not trained:
            continue
        curves = [next(iter(each.measured.values())) for each in trained]
        points = list(zip(*curves, strict=False))
        accuracy.append(Line(layer, *_means([(group[0][0], [100 * value for _, value in group]) for group in points])))
        every = trained[0].loss_every
        groups = enumerate(zip(*(each.losses for each in trained), strict=False), start=1)
        losses.append(Line(layer, *_means([(place * every, list(group)) for place, group in groups])))
    made = []
    for what, unit, lines in (("accuracy", "accuracy (%)", accuracy), ("loss", "training loss", losses)):
        title = f"{column.name}: {what}"
        svg = line_chart(title, lines, Axes("training step", unit, x_whole=True))
        data = [(line.label, x, y) for line in lines for x, y in zip(line.x, line.y, strict=True)]
        made.append(Figure(f"{name}_{what}", title, svg, ("layer", "step", unit), data))
    return made


def _means(points: Sequence[tuple[int, Sequence[float]]]) -> tuple[list[float], list[float], list[float], list[float]]:
    steps = [float(step) for step, _ in points]
    return steps, *([how(values) for _, values in points] for how in (statistics.fmean, min, max))


def _by_batch(table: Table, found: Cells) -> Figure:
    names = [column.name for column in table.columns]
    lines = []
    for layer in table.layers:
        here = [(place, list(found[layer, name].values.values())) for place, name in enumerate(names)]
        if any(values for _, values in here):
            lines.append(Line(layer, *_means([(place, values) for place, values in here if values])))
    axes = Axes("images per worker", "accuracy (%)", (-0.1, len(names) - 0.9), x_names=[n.split()[0] for n in names])
    data = [(layer, name, seed, v) for (layer, name), cell in found.items() for seed, v in cell.values.items()]
    title = "Accuracy by images per worker"
    return Figure("batch_sizes", title, line_chart(title, lines, axes), ("layer", "column", "seed", "accuracy"), data)


def _trade_off(table: Table, found: Cells) -> Figure:
    """Accuracy against multiply-adds of inference, what folds into convolutions folded (paper, figure of costs)."""
    lines, data = [], []
    for layer in table.layers:
        points = []
        for column in table.columns:
            settings = column.load(0).settings
            cost = model_cost(settings.model, layer, settings.pictures.size, width=settings.width).multiply_adds / 1e6
            points += [(cost, list(cell.values.values())) for cell in [found[layer, column.name]] if cell.trained]
            data += [(layer, column.name, cost, seed, v) for seed, v in found[layer, column.name].values.items()]
        if points:
            costs = [cost for cost, _ in points]
            lines.append(Line(layer, costs, [statistics.fmean(values) for _, values in points]))
    title = "Accuracy against multiply-adds of inference"
    svg = line_chart(title, lines, Axes("million multiply-adds an image", "accuracy (%)"))
    return Figure("trade_off", title, svg, ("layer", "column", "multiply-adds (M)", "seed", "accuracy"), data)
