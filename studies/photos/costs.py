"""What a table would cost before anybody starts it: photos seen, multiply-adds, GPU-hours at an assumed rate."""

from dataclasses import dataclass

from evonorm.models import model_cost
from evonorm.training import EpochSize
from studies.photos.tables import Table

IMAGENET = 1_281_167  # training photos
# Assumed, not measured here: what one A100 sustains in bfloat16. 30e12 is ResNet-50 at about 2,450 images a second;
# depthwise convolutions are bound by memory, and nets of them reach about a tenth.
DENSE, DEPTHWISE = 30e12, 3e12
TRAINING = 3  # a step's multiply-adds over those of its forward pass


@dataclass(frozen=True)
class ColumnCost:
    """One training of one column."""

    column: str
    epochs: float
    steps: int
    photos: float
    multiply_adds: float
    gpu_hours: float


def cost_of(table: Table) -> list[ColumnCost]:
    """For ImageNet's number of photos, whatever the layer: layers are some percent of a step."""
    costs = []
    for column in table.columns:
        recipe = column.load(seed=0)
        settings, epochs = recipe.settings, recipe.training.epochs or 0.0
        steps = recipe.training.in_steps(EpochSize(IMAGENET, settings.images_per_worker)).steps
        photos = epochs * IMAGENET
        model = model_cost(settings.model, image_size=settings.pictures.size, width=settings.width)
        work = TRAINING * photos * model.conv_multiply_adds
        rate = DENSE if settings.model.startswith("resnet") else DEPTHWISE
        costs.append(ColumnCost(column.name, epochs, steps, photos, work, work / rate / 3600))
    return costs


def cost_rows(table: Table) -> list[list[str]]:
    runs = len(table.layers) * table.seeds
    return [
        [
            cost.column,
            f"{cost.epochs:g}",
            f"{cost.steps:,}",
            f"{cost.multiply_adds / 1e18:.2f}",
            f"{cost.gpu_hours:.0f}",
            f"{runs}",
            f"{runs * cost.gpu_hours:,.0f}",
        ]
        for cost in cost_of(table)
    ]


COLUMNS = ["column", "epochs", "steps", "10^18 multiply-adds", "GPU-hours each", "trainings", "GPU-hours"]
