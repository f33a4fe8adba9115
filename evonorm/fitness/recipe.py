"""What an evaluation can choose; the defaults are the paper's for the EvoNorm-B search.

Batch size and crop belong to the anchors (`evonorm.models.ANCHORS`): 128 and 24x24 for the paper's three.
"""

from dataclasses import dataclass, field
from typing import Literal

from evonorm.data import DATA_SETS
from evonorm.models import ANCHORS
from evonorm.training import TrainingRecipe


@dataclass(frozen=True)
class QualityRecipe:
    """Rejects what is below `accuracy` after the first `steps` of the run (paper, "Rejection protocols")."""

    steps: int = 100
    accuracy: float = 0.2

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}.")
        if not 0 <= self.accuracy <= 1:
            raise ValueError(f"accuracy must lie in 0 to 1, got {self.accuracy}.")


@dataclass(frozen=True)
class StabilityRecipe:
    """Rejects a layer whose gradient norm passes `gradient_norm` within `steps` of ascent on it.

    Attributes:
        batch_size: the paper says "a small batch".
        step_size: of the ascent; the paper leaves it open, `docs/proxy_task.md` tells how this one was chosen.
        direction: "differences" takes Hessian-vector products from two first-order gradients, "exact" from a double
            backward pass. They agree in verdict; differences are faster.
    """

    steps: int = 100
    gradient_norm: float = 1e8
    batch_size: int = 8
    step_size: float = 0.1
    direction: Literal["differences", "exact"] = "differences"

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"steps must not be negative (0 leaves the test out), got {self.steps}.")
        if self.batch_size < 2:
            raise ValueError(f"batch_size must be at least 2 (batch moments need it), got {self.batch_size}.")
        if not (self.gradient_norm > 0 and self.step_size > 0):
            raise ValueError(f"gradient_norm, step_size must be positive, got {self.gradient_norm}, {self.step_size}.")


@dataclass(frozen=True)
class Rung:
    """Trains on `anchors` up to `steps` and looks.

    Attributes:
        gate: lowest accuracy allowed on each anchor; 0.2 is the paper's at 100 steps of its own anchors.
        stability: who has cleared this rung takes the stability test at once, on every anchor of the recipe, and not
            after the quality test. It needs no training, so its verdict is the same.
    """

    anchors: tuple[str, ...]
    steps: int
    gate: float = 0.0
    stability: bool = False

    def __post_init__(self) -> None:
        for anchor in self.anchors:
            if anchor not in ANCHORS:
                raise ValueError(f"there is no anchor {anchor!r}. Known: {', '.join(ANCHORS)}.")
        if not self.anchors or self.steps < 1:
            raise ValueError(f"a rung has anchors and at least 1 step, got {list(self.anchors)}, {self.steps}.")
        if not 0 <= self.gate <= 1:
            raise ValueError(f"gate must lie in 0 to 1, got {self.gate}.")


@dataclass(frozen=True)
class FitnessRecipe:
    """The whole protocol.

    Attributes:
        data: "cifar10", or "digits" as a stand-in.
        anchors: in order of cost, so that a bad layer is found out on the cheapest.
        threads: of torch during an evaluation; another number gives other roundings.
        validation_images: how many of the 5,000 are used, always the same ones.
        validation_batch_size: 512 in the paper; it changes the speed, not the result.
        moments: "moving" validates with the moving moments, as the paper does; "reestimated" with their average over
            `moment_batches` training batches, which runs of less than about 200 steps need.
        ladder: rungs before the tests and the final training; none in the paper.
    """

    data: str = "cifar10"
    anchors: tuple[str, ...] = ("resnet50-cifar", "mobilenetv2-cifar", "efficientnet-b0-cifar")
    threads: int = 2
    validation_images: int = 5000
    validation_batch_size: int = 512
    moments: Literal["moving", "reestimated"] = "moving"
    moment_batches: int = 8
    quality: QualityRecipe = field(default_factory=QualityRecipe)
    stability: StabilityRecipe = field(default_factory=StabilityRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    ladder: tuple[Rung, ...] = ()

    def __post_init__(self) -> None:
        if self.data not in DATA_SETS:
            raise ValueError(f"data must be one of {', '.join(DATA_SETS)}, got {self.data!r}.")
        if not self.anchors or len(set(self.anchors)) != len(self.anchors):
            raise ValueError(f"anchors must be a list of different names, got {list(self.anchors)}.")
        for anchor in self.anchors:
            if anchor not in ANCHORS:
                raise ValueError(f"there is no anchor {anchor!r}. Known: {', '.join(ANCHORS)}.")
        for name in ("threads", "validation_images", "validation_batch_size", "moment_batches"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.quality.steps > self.training.steps:
            raise ValueError(
                f"quality.steps ({self.quality.steps}) are the first of training.steps ({self.training.steps}):"
                " they cannot be more."
            )
        check_ladder(self.ladder, self.training.steps)


def check_ladder(rungs: tuple[Rung, ...], steps: int) -> None:
    """Rungs go up: no anchor is asked for fewer steps than before, none for more than the final training."""
    reached: dict[str, int] = {}
    for rung in rungs:
        for anchor in rung.anchors:
            if not reached.get(anchor, 0) <= rung.steps <= steps:
                raise ValueError(
                    f"the ladder must go up to training.steps ({steps}) on {anchor}:"
                    f" {rung.steps} comes after {reached.get(anchor, 0)}."
                )
            reached[anchor] = rung.steps
