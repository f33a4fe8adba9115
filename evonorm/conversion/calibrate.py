"""Starts new layers as close as they can be to what they replace, from some pictures and no training.

First each BatchNorm goes into the convolution before it, so that the new layer sees what the old activation saw. Then,
in the order in which they run, every layer gets the gamma and beta with the least squared distance per channel to the
old network's values at its place, from what the already calibrated layers before it give; and of a few v1, the one that
leaves the least. A later layer thus takes out again what drifted before it.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from evonorm.conversion.check import with_pairs
from evonorm.conversion.decide import Decision
from evonorm.conversion.fold import Recorder, fold_into, is_same, modules_before
from evonorm.conversion.norms import BATCH, FROZEN, Norm
from evonorm.conversion.run import Example, call_with, fresh, quietly
from evonorm.conversion.table import AFFINE, CONVERT
from evonorm.layers import BatchNormAct, GroupNormAct, NormAct

PLACES = 64  # of a picture's plane that are compared at most
SLOPES = (1.0, -1.0, -4.0, -16.0)  # v1 that are tried, for a whole layer: B0 looks like ReLU below zero only


def one_batch(batches: Any) -> Example:
    """A tensor or a dict of arguments as it is; from several batches one. Labels behind an input are left out."""
    if isinstance(batches, Tensor | Mapping):
        return batches
    parts = [each if isinstance(each, Tensor | Mapping) else each[0] for each in batches]
    if not parts:
        raise ValueError("calibrate= got no batch. Give some pictures as the model takes them, 64 or more.")
    if isinstance(parts[0], Mapping):
        return {name: torch.cat([each[name] for each in parts]) for name in parts[0]}
    return torch.cat([torch.as_tensor(each) for each in parts])


class Calibration:
    """What new layers shall come close to, and the batch by which that is judged."""

    def __init__(self, model: nn.Module, decisions: Sequence[Decision], batch: Example) -> None:
        """Looks at the model before it is changed."""
        self.batch = batch
        names = [each.name for each in decisions if each.position.action in (CONVERT, AFFINE)]
        teacher = with_pairs(model, decisions)
        with quietly(teacher, training=False):
            self.targets = values_at(teacher, names, fresh(batch))

    def fold_norms(self, model: nn.Module, new: Mapping[str, nn.Module], norms: Mapping[str, Norm]) -> None:
        """Every BatchNorm that gets a layer in its place goes into the convolution before it, if it is alone there."""
        names = [name for name, layer in new.items() if isinstance(layer, NormAct) and layer.nonlinearity]
        names = [name for name in names if norms[name].kind in (BATCH, FROZEN)]
        names = [name for name in names if getattr(model.get_submodule(name), "running_var", None) is not None]
        trial = copy.deepcopy(model)
        with quietly(trial, training=False):
            before = modules_before(trial, names, fresh(self.batch))
            expected = call_with(trial, fresh(self.batch))
            for name, other in before.items():
                fold_into(trial.get_submodule(other), trial.get_submodule(name))
            if not is_same(call_with(trial, fresh(self.batch)), expected):
                return  # something else reads what a convolution gives
        for name, other in before.items():
            fold_into(model.get_submodule(other), model.get_submodule(name))

    def start(self, model: nn.Module) -> str:
        """Calibrates the converted model; says how well that went."""
        modes = [(each, each.training) for each in model.modules()]
        with quietly(model, training=False):
            left = sorted(calibrate(model, self.targets, fresh(self.batch)).values())
        for module, training in modes:
            module.training = training
        middle, most = left[len(left) // 2], left[-1]
        return f"Calibrated {len(left)} layers; unexplained variance: median {middle:.2f}, most {most:.2f}."


def sampled(y: Tensor) -> Tensor:
    """(N, C, some places of the plane), a copy: what follows may be in place."""
    flat = y.unsqueeze(-1) if y.ndim == 2 else y.flatten(2)
    return flat[:, :, :: max(1, flat.shape[2] // PLACES)].to(torch.float32, copy=True)


@torch.no_grad()
def values_at(model: nn.Module, names: Iterable[str], batch: Example) -> dict[str, Tensor]:
    """What the named modules give, at the compared places."""
    found: dict[str, Tensor] = {}
    with Recorder() as recorder:
        for name in names:
            note = lambda _, __, output, name=name: found.__setitem__(name, sampled(output))  # noqa: E731
            recorder.handles.append(model.get_submodule(name).register_forward_hook(note))
        call_with(model, batch)
    return found


@torch.no_grad()
def calibrate(model: nn.Module, targets: Mapping[str, Tensor], batch: Example) -> dict[str, float]:
    """Sets gamma, beta, v1 and the moving moments of the named layers; how much of each variance stays unexplained."""
    left: dict[str, float] = {}

    def fit(name: str) -> Any:
        def close_in(layer: nn.Module, inputs: tuple[Tensor, ...], _: Tensor) -> Tensor:
            if name not in left:
                left[name] = fit_layer(layer, inputs[0], targets[name])
            y: Tensor = layer.forward(inputs[0])
            return y

        return close_in

    with Recorder() as recorder:
        for name in targets:
            recorder.handles.append(model.get_submodule(name).register_forward_hook(fit(name)))
        call_with(model, batch)
    return left


def fit_layer(layer: Any, x: Tensor, target: Tensor) -> float:
    """The best fit, over v1 where the layer has one; how much of the variance stays unexplained."""
    if not ends_with_affine(layer):
        return unexplained(sampled(layer.forward(x)), target)
    if not isinstance(layer, NormAct) or layer.v1 is None:
        return fit_affine(layer, x, target)
    tried = {slope: fit_with(layer, slope, x, target) for slope in SLOPES}
    return fit_with(layer, min(tried, key=lambda slope: tried[slope]), x, target)


def ends_with_affine(layer: nn.Module) -> bool:
    """Whether gamma and beta are the last thing that happens; elsewhere least squares do not find them."""
    if isinstance(layer, NormAct):
        return type(layer).forward is NormAct.forward
    return isinstance(layer, BatchNormAct | GroupNormAct) and layer.activation is None


def fit_with(layer: NormAct, slope: float, x: Tensor, target: Tensor) -> float:
    assert layer.v1 is not None
    layer.reset_parameters()
    layer.v1.fill_(slope)
    left = fit_affine(layer, x, target)
    return left if math.isfinite(left) else math.inf


def fit_affine(layer: Any, x: Tensor, target: Tensor) -> float:
    """gamma and beta by least squares per channel, whatever they were before."""
    if isinstance(layer, NormAct) and layer.moving_names:
        _take_moments(layer, x)
    u = sampled(layer.forward(x))
    mean_u, mean_t = u.mean((0, 2), keepdim=True), target.mean((0, 2), keepdim=True)
    variance = (u - mean_u).square().mean((0, 2))
    covariance = ((u - mean_u) * (target - mean_t)).mean((0, 2))
    factor = torch.where(variance > 1e-12, covariance / variance.clamp(min=1e-12), 0.0)
    shift = mean_t.view(-1) - factor * mean_u.view(-1)
    layer.weight.mul_(factor)
    layer.bias.mul_(factor).add_(shift)
    return unexplained(u * factor.view(-1, 1) + shift.view(-1, 1), target)


def unexplained(found: Tensor, target: Tensor) -> float:
    """The squared distance as a share of the target's variance in its channels."""
    spread = (target - target.mean((0, 2), keepdim=True)).square().sum()
    return float((found - target).square().sum() / spread.clamp(min=1e-12))


def _take_moments(layer: NormAct, x: Tensor) -> None:
    """The moving moments of this batch alone, since evaluation reads them."""
    momentum, layer.momentum = layer.momentum, 1.0
    layer.train()
    layer.forward(x)
    layer.eval()
    layer.momentum = momentum
