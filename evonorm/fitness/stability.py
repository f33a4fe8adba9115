"""Stability test: ascend the gradient norm over the weights and see if it explodes (paper, "Rejection protocols").

With g the gradient of the training loss on a small fixed batch, the direction of ascent is the gradient of |g|, which
is the Hessian times g / |g|. "exact" takes it by a double backward pass; "differences" as (g(w + r u) - g(w)) / r with
u = g / |g|, which costs two first-order gradients and runs on the fastest kernel.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from evonorm.fitness.proxy_task import ProxyTask
from evonorm.fitness.recipe import StabilityRecipe
from evonorm.journal import Progress, Test, Watcher
from evonorm.training import classification_loss

DIFFERENCE = 1e-2  # r: the distance along u at which the second gradient is taken


def passes_stability(task: ProxyTask, watch: Watcher) -> tuple[bool, dict[str, Any]]:
    """Stresses the task's anchor as it is before training."""
    recipe = task.recipe.stability
    batch = task.crops(recipe.batch_size).batch(0)

    def on_step(step: int, norm: float) -> None:
        watch(Progress(Test.STABILITY, task.anchor.name, step, recipe.steps, {"gradient_norm": norm}))

    reading = ascend_gradient_norm(task.fresh_model(), batch, recipe, task.seed, on_step)
    return reading.stable, {"step": reading.steps, "gradient_norm": reading.largest_finite, "finite": reading.finite}


@dataclass(frozen=True)
class StabilityReading:
    """What the ascent met: `norms` before each step and after the last, up to the one that rejected."""

    stable: bool
    norms: tuple[float, ...]

    @property
    def steps(self) -> int:
        return len(self.norms) - 1

    @property
    def finite(self) -> bool:
        return all(map(math.isfinite, self.norms))

    @property
    def largest_finite(self) -> float:
        return max(filter(math.isfinite, self.norms), default=0.0)


def ascend_gradient_norm(
    model: nn.Module,
    batch: tuple[Tensor, Tensor],
    recipe: StabilityRecipe,
    seed: int = 0,
    on_step: Callable[[int, float], None] | None = None,
) -> StabilityReading:
    """Plain gradient ascent on the gradient norm, in train mode; changes the model's weights.

    `seed` fixes what is random inside the model, the same at every step: the loss is one function of the weights.
    """
    landscape = _Landscape(model, batch, seed)
    norms: list[float] = []
    for step in range(recipe.steps + 1):
        norm, direction = landscape.norm_and_direction(recipe.direction, last=step == recipe.steps)
        norms.append(norm)
        if on_step is not None:
            on_step(step, norm)
        if not norm <= recipe.gradient_norm:  # NaN too
            return StabilityReading(False, tuple(norms))
        if norm == 0 or not direction:
            break  # flat all around: there is nowhere to ascend
        landscape.move(direction, recipe.step_size)
    return StabilityReading(True, tuple(norms))


class _Landscape:
    """The training loss of one batch as a function of the model's weights."""

    def __init__(self, model: nn.Module, batch: tuple[Tensor, Tensor], seed: int) -> None:
        self.model, self.batch, self.seed = model.train(), batch, seed
        self.weights: list[Tensor] = list(model.parameters())

    def gradient(self, create_graph: bool = False) -> list[Tensor]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            loss = classification_loss(self.model, self.batch)
        # A weight that the loss does not depend on (a graph may ignore its input) has the gradient zero.
        return list(torch.autograd.grad(loss, self.weights, create_graph=create_graph, materialize_grads=True))

    def norm_and_direction(self, how: Literal["differences", "exact"], last: bool) -> tuple[float, list[Tensor]]:
        """The gradient norm here and the direction in which it grows; no direction for the last step."""
        exact = how == "exact" and not last
        gradient = self.gradient(create_graph=exact)
        total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradient)))  # differentiable
        norm = float(total.detach())
        if last or norm == 0 or not math.isfinite(norm):
            return norm, []
        if exact:
            if not total.requires_grad:
                return norm, []
            return norm, list(torch.autograd.grad(total, self.weights, materialize_grads=True))
        return norm, self._difference(gradient, norm)

    def _difference(self, gradient: list[Tensor], norm: float) -> list[Tensor]:
        kept = [weight.detach().clone() for weight in self.weights]
        with torch.no_grad():
            torch._foreach_add_(self.weights, gradient, alpha=DIFFERENCE / norm)
        ahead = self.gradient()
        with torch.no_grad():
            torch._foreach_copy_(self.weights, kept)
            torch._foreach_sub_(ahead, gradient)
            torch._foreach_div_(ahead, DIFFERENCE)
        return ahead

    @torch.no_grad()
    def move(self, direction: list[Tensor], length: float) -> None:
        torch._foreach_add_(self.weights, direction, alpha=length)
