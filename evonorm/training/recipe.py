"""How a model is trained; the defaults are the paper's for the EvoNorm-B search ("Proxy Task on CIFAR-10")."""

import math
from dataclasses import dataclass
from typing import Literal

from evonorm.training.schedules import SCHEDULES


@dataclass(frozen=True)
class TrainingRecipe:
    """How the loop goes through a task.

    Attributes:
        steps: of training; the EvoNorm-S experiment has 5000 with the cosine schedule.
        optimizer: "nesterov" is SGD with Nesterov momentum.
        workers: logical ones, each with a batch and batch moments of its own, whose gradients are averaged: so many
            devices, or one that takes them in turn.
        schedule: "constant", or "cosine" from the learning rate down to 0 at the last step.
        weight_decay: on every parameter but those of normalization layers, as in the official code.
        validate_every: steps between validations for the curve, 0 for the last step only.
        seconds: a budget of time; None for none. A run that it ends cannot be reproduced.
    """

    steps: int = 2000
    optimizer: Literal["nesterov"] = "nesterov"
    workers: int = 1
    schedule: Literal["constant", "cosine"] = "constant"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    validate_every: int = 500
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "workers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}.")
        if not 0 < self.momentum < 1:
            raise ValueError(f"momentum must lie between 0 and 1 (Nesterov needs one), got {self.momentum}.")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must not be negative, got {self.weight_decay}.")
        if self.validate_every < 0:
            raise ValueError(f"validate_every must not be negative, got {self.validate_every}.")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"seconds must be positive, got {self.seconds}.")

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of the update number `step`, counted from 0."""
        return self.learning_rate * SCHEDULES[self.schedule](step, self.steps)

    def validates_at(self, step: int) -> bool:
        """Whether the curve has a point after this many updates."""
        return step == self.steps or (self.validate_every > 0 and step % self.validate_every == 0)
