"""How a model is trained; the defaults are the paper's for the EvoNorm-B search ("Proxy Task on CIFAR-10")."""

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from evonorm.training.schedules import Course, share_of_rate


@dataclass(frozen=True)
class AverageRecipe:
    """A moving average of the weights and moments, measured in their place; none in the CIFAR proxy.

    Attributes:
        decay: of the average at every step; 0 for no average.
        start: steps before it; until then it is a copy.
        ramp: the decay of step n is at most (1 + n) / (10 + n), as TensorFlow's is, so that an early average does not
            remember the first weights.
        plain: whether the weights themselves are measured as well.
    """

    decay: float = 0.0
    start: int = 0
    ramp: bool = True
    plain: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.decay < 1:
            raise ValueError(f"decay must lie in 0 (no average) to below 1, got {self.decay}.")
        if self.start < 0:
            raise ValueError(f"start must not be negative, got {self.start}.")

    def decay_after(self, step: int) -> float:
        """What the average keeps of itself after so many updates of the weights."""
        updates = step - self.start
        if updates <= 0:
            return 0.0
        return min(self.decay, (1 + updates) / (10 + updates)) if self.ramp else self.decay


@dataclass(frozen=True)
class EpochSize:
    """What an epoch of a task is: so many samples, taken by each logical worker so many at a time."""

    samples: int
    images_per_worker: int


@dataclass(frozen=True)
class TrainingRecipe:
    """How the loop goes through a task.

    Attributes:
        steps: of training; the EvoNorm-S experiment has 5000 with the cosine schedule.
        epochs: the length as passes over the training data, in place of steps. Then `warmup`, `boundaries`, `period`
            and `validate_every` are in epochs too; otherwise they are in steps.
        optimizer: "nesterov" is SGD with Nesterov momentum, "momentum" SGD with plain momentum, "rmsprop" RMSprop as
            TensorFlow has it, "adam" Adam.
        workers: logical ones, each with a batch and batch moments of its own, whose gradients are averaged: so many
            devices, or fewer that take them in turn.
        worker_moments: the moving moments are the "first" worker's, as one replica's are in the paper's code, or
            "averaged" over all of them, which is better where each has few images.
        schedule: "constant"; "cosine" from the learning rate down to 0 at the last step; "steps" multiplies it by
            `factor` at each of `boundaries`; "exponential" after every `period`.
        warmup: the rate grows linearly over so long, and the schedule goes on as if it had been there from the start.
        warmup_from: share of the rate that the warm-up begins at.
        learning_rate: of the step, or, where `rate_images` is given, of a step of so many images over all workers: the
            rate is scaled linearly to the images that a step has.
        momentum, decay, epsilon: of the optimizer; decay (of the squared gradients) and epsilon are for RMSprop and
            Adam, whose first beta is the momentum and may be 0.
        weight_decay: on every parameter but those of normalization layers, as in the official code.
        clip: largest norm of a turn's gradient; 0 does not clip. The paper's recipes do not.
        precision: "bfloat16" and "float16" run under autocast, the latter with a scaled loss.
        average: see `AverageRecipe`.
        validate_every: between validations for the curve, 0 for the last step only.
        seconds: a budget of time; None for none. A run that it ends cannot be reproduced.
        steps_per_epoch: filled in by `in_steps`.
    """

    steps: int = 2000
    epochs: float | None = None
    optimizer: Literal["nesterov", "momentum", "rmsprop", "adam"] = "nesterov"
    workers: int = 1
    worker_moments: Literal["first", "averaged"] = "first"
    schedule: Literal["constant", "cosine", "steps", "exponential"] = "constant"
    warmup: float = 0.0
    warmup_from: float = 0.0
    boundaries: tuple[float, ...] = ()
    factor: float = 0.1
    period: float = 1.0
    learning_rate: float = 0.1
    rate_images: int | None = None
    momentum: float = 0.9
    decay: float = 0.9
    epsilon: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 0.0
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    average: AverageRecipe = field(default_factory=AverageRecipe)
    validate_every: int = 500
    seconds: float | None = None
    steps_per_epoch: float = 1.0

    def __post_init__(self) -> None:
        for name in ("steps", "workers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("epochs", "rate_images", "seconds", "learning_rate", "factor", "period", "epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive, got {value}.")
        if not 0 < self.decay < 1:
            raise ValueError(f"decay must lie between 0 and 1, got {self.decay}.")
        if not 0 < self.momentum < 1 and (self.optimizer, self.momentum) != ("adam", 0):
            raise ValueError(f"momentum must lie between 0 and 1 (Nesterov needs one), got {self.momentum}.")
        if not 0 <= self.warmup_from <= 1:
            raise ValueError(f"warmup_from is a share of the rate, 0 to 1, got {self.warmup_from}.")
        for name in ("weight_decay", "clip", "warmup", "validate_every"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}.")
        if self.schedule == "steps" and list(self.boundaries) != sorted(set(self.boundaries)):
            raise ValueError(f"boundaries must go up, got {list(self.boundaries)}.")

    def lasting(self, epochs: float) -> "TrainingRecipe":
        """The same schedule, drawn out or pressed together to another length; the official code does it likewise."""
        if self.epochs is None:
            raise ValueError("only a recipe that counts epochs can be given another number of them.")
        share = epochs / self.epochs
        boundaries = tuple(share * boundary for boundary in self.boundaries)
        return replace(
            self, epochs=epochs, warmup=share * self.warmup, boundaries=boundaries, period=share * self.period
        )

    def in_steps(self, size: EpochSize) -> "TrainingRecipe":
        """The same for a task of this size: a length in steps, and the rate of its own number of images."""
        images = self.workers * size.images_per_worker
        an_epoch = size.samples / images
        return replace(
            self,
            steps=self.steps if self.epochs is None else max(1, int(self.epochs * an_epoch)),
            epochs=None,
            learning_rate=self.learning_rate * (images / self.rate_images if self.rate_images else 1),
            rate_images=None,
            steps_per_epoch=self.steps_per_epoch if self.epochs is None else an_epoch,
        )

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of the update number `step`, counted from 0."""
        length = self.steps / self.steps_per_epoch
        course = Course(length, self.warmup, self.warmup_from, self.boundaries, self.factor, self.period)
        return self.learning_rate * share_of_rate(self.schedule, step / self.steps_per_epoch, course)

    def validates_at(self, step: int) -> bool:
        """Whether the curve has a point after this many updates."""
        if step == self.steps or not self.validate_every:
            return step == self.steps
        every = self.validate_every * self.steps_per_epoch
        return int(step / every) > int((step - 1) / every)
