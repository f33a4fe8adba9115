"""The paper's ImageNet tables as lists of trainings: columns are recipes, rows are layers.

`imagenet` recipes are the paper's own; `tiny-imagenet` ones are their miniatures, which a core finishes in minutes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evonorm.foundation import unknown_name
from evonorm.runner import RERANK_MODELS, TaskRecipe, load_task_recipe, rivals_of
from studies.kept_or_fresh import run_of

FOUND = (  # the best of the first round's searches, judged again under fresh seeds (docs/results.md, section 4)
    "x / (std_bwh(x + tanh(v1)) / sigmoid(x + tanh(v1)))",
    "x / (max(x, mean_whc(max(v1, x))) * std_whcg(x))",
)
VARIANTS = (None, "aug", "aug+2x", "aug+2x+cos")
BATCHES = (128, 64, 32, 16, 8, 4)


@dataclass(frozen=True)
class Column:
    """One recipe under a heading."""

    name: str
    recipe: str
    variant: str | None = None
    changes: tuple[str, ...] = ()

    def load(self, seed: int, data: Path | None = None) -> TaskRecipe:
        placed = (f"settings.data={data.absolute()}",) if data else ()
        return load_task_recipe(Path(self.recipe), (*self.changes, *placed, f"seed={seed}"), self.variant)


@dataclass(frozen=True)
class Table:
    """What is compared: every layer in every column."""

    title: str
    layers: tuple[str, ...]
    columns: tuple[Column, ...]
    seeds: int = 3

    @property
    def reference(self) -> str:
        """What everybody is compared with: BN-ReLU, or the first of the list."""
        return "bn-relu" if "bn-relu" in self.layers else self.layers[0]

    def part(self, layers: Sequence[str] | None, columns: Sequence[str] | None) -> "Table":
        """Some of its rows and columns, by name; all where none is named."""
        names = [each.name for each in self.columns]
        for what, wanted, known in (("layer", layers, self.layers), ("column", columns, names)):
            for name in wanted or ():
                if name not in known:
                    raise unknown_name(f"{what} of this table", name, known)
        kept = tuple(each for each in self.columns if not columns or each.name in columns)
        return replace(self, layers=tuple(layers or self.layers), columns=kept)

    def at(self, family: str) -> "Table":
        """The same with another family's recipes."""
        return replace(self, columns=tuple(replace(each, recipe=f"{family}/{each.recipe}") for each in self.columns))


def _batches(model: str, variant: str | None, sizes: tuple[int, ...] = BATCHES) -> tuple[Column, ...]:
    return tuple(
        Column(
            f"{model} {variant or ''} {size}".replace("  ", " "),
            model,
            variant,
            (f"settings.images_per_worker={size}",),
        )
        for size in sizes
    )


RESNETS = tuple(Column(f"resnet50 {variant or 'original'}", "resnet50", variant) for variant in VARIANTS)
MOBILE = tuple(Column(name, name) for name in ("mobilenetv2", "mnasnet", "efficientnet-b0", "efficientnet-b5"))
WIDTHS = tuple(
    Column(f"mobilenetv2 x{width}", "mobilenetv2", changes=(f"settings.width={width}",)) for width in (0.9, 1.0, 1.1)
)
FANCY = "aug+2x+cos"

IMAGENET = {
    "b": Table(
        "Batch-dependent layers",
        ("bn-relu", "bn-silu", "random", "random-rej", "rs-rej", "evonorm-b0", "evonorm-b1", "evonorm-b2"),
        (*RESNETS, *MOBILE),
    ),
    "s": Table(
        "Batch-independent layers, large and small batches",
        ("bn-relu", "gn-relu", "frn", "evonorm-s0", "evonorm-s1", "evonorm-s2"),
        (
            *_batches("resnet50", None, (128, 4)),
            *_batches("resnet50", FANCY, (128, 4)),
            *_batches("mobilenetv2", "s", (128, 4)),
        ),
    ),
    "batch-sizes": Table(
        "Accuracy by images per worker",
        ("bn-relu", "gn-relu", "frn", "evonorm-b0", "evonorm-s0"),
        (*_batches("resnet50", None), *_batches("mobilenetv2", "s")),
    ),
    "gn-silu": Table(
        "GN-SiLU beside EvoNorm-S0 at 4 images per worker",
        ("gn-relu", "gn-silu", "evonorm-s0"),
        (*_batches("resnet50", None, (4,)), *_batches("resnet50", FANCY, (4,)), *_batches("mobilenetv2", "s", (4,))),
    ),
    "trade-off": Table(
        "Accuracy and cost of MobileNetV2 at three widths",
        ("bn-relu", "bn-silu", "gn-relu", "frn", "evonorm-b0", "evonorm-s0"),
        WIDTHS,
        seeds=1,
    ),
    "structure": Table(
        "Structural changes of EvoNorm-B0",
        ("evonorm-b0", "b0-no-v1x", "b0-no-local", "b0-no-global", "b0-add"),
        RESNETS[:1],
    ),
}
SHORT = ("training.epochs=4",)
RERANKED = ("training.epochs=2", "training.warmup=0.25", "settings.held_out=0.1")
TINY = {
    "layers": Table(
        "MobileNetV2, 8 epochs",
        ("bn-relu", "gn-relu", "evonorm-b0", "evonorm-s0", *FOUND),
        (Column("mobilenetv2", "mobilenetv2"),),
    ),
    "batch-sizes": Table(
        "MobileNetV2, 4 epochs, rates in proportion to the batch",
        ("bn-relu", "gn-relu", "evonorm-b0", "evonorm-s0"),
        tuple(
            Column(f"{size} images", "mobilenetv2", changes=(*SHORT, f"settings.images_per_worker={size}"))
            for size in (128, 32, 8, 4)
        ),
    ),
    "gn-silu": Table(
        "MobileNetV2, 4 epochs, 4 images per worker",
        ("gn-silu", "gn-relu", "evonorm-s0"),  # the first one is what the others are compared with
        (Column("4 images", "mobilenetv2", changes=(*SHORT, "settings.images_per_worker=4")),),
    ),
    "trade-off": Table(
        "MobileNetV2 at three widths, 4 epochs",
        ("bn-relu", "evonorm-b0", "evonorm-s0"),
        tuple(replace(column, changes=(*column.changes, *SHORT)) for column in WIDTHS),
        seeds=1,
    ),
    "structure": Table(
        "MobileNetV2, 8 epochs or until the loss is not a number",
        ("evonorm-b0", "b0-no-v1x", "b0-no-local", "b0-no-global", "b0-add"),
        (Column("mobilenetv2", "mobilenetv2"),),
    ),
}


RERANKS = {"rerank-b": "b-evolution", "rerank-s": "s-evolution"}
NAMES = {"imagenet": tuple(IMAGENET), "tiny-imagenet": (*TINY, *RERANKS)}


def find_table(family: str, name: str) -> Table:
    """One of `NAMES[family]`, its columns recipes of the family."""
    if name in RERANKS:
        return _rerank_table(RERANKS[name]).at(family)
    return (IMAGENET if family == "imagenet" else TINY)[name].at(family)


def _rerank_table(run: str) -> Table:
    """The ten best functions of one of the first round's searches, and its references, in three models."""
    with run_of("search", run) as folder:
        rivals = rivals_of(folder, 10)
    columns = tuple(Column(model, model, changes=RERANKED) for model in RERANK_MODELS)
    return Table(f"The ten best of {run}, 2 epochs on 90 % of the photos", rivals.layers, columns, seeds=2)
