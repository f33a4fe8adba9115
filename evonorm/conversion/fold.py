"""Inference: what is only a factor and a shift per channel goes into the convolution before it."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils.parametrize import is_parametrized
from torch.utils._pytree import tree_map

from evonorm.conversion.check import SurgeryError, distance
from evonorm.conversion.run import Example, call_with, example_for, fresh, quietly
from evonorm.conversion.surgery import replace_everywhere
from evonorm.layers import BatchNormAct, NormAct

FOLDED = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
ROUNDING = 1e-2  # of the largest output: what folding may change


def fold(model: nn.Module, example: Example = None) -> nn.Module:
    """Folds affines and BatchNorms into the convolutions before them, for inference. In place; returns the model.

    That concerns our layers without activation (`nonlinearity=False`), `bn-relu` and `bn-silu`, of which the activation
    stays, and torch's BatchNorm; all of them where a convolution or a linear layer comes before. The model is then in
    evaluation mode for good. onnxruntime does the same by itself.

    Arguments:
        model: any module.
        example: what to call it with, as in `convert`.

    Raises SurgeryError if that changes the outputs, for instance since something else reads what a convolution gives;
    the model is then as it was. ValueError if no input that was tried runs through the model.

    Example: evonorm.fold(evonorm.create_model("resnet-nano", layer="bn-relu"), torch.randn(2, 3, 24, 24))
    """
    trial = copy.deepcopy(model)
    example = example_for(trial) if example is None else example
    names = [name for name, module in trial.named_modules() if is_affine(module)]
    with quietly(trial, training=False):
        before = modules_before(trial, names, fresh(example))
        expected = call_with(trial, fresh(example))
        _fold_all(trial, before)
        if not is_same(call_with(trial, fresh(example)), expected):
            raise SurgeryError("folding changes what the model says: something else reads a convolution's output too.")
    _fold_all(model.eval(), before)
    return model


def is_affine(module: nn.Module) -> bool:
    """Whether it is a factor and a shift per channel in evaluation, perhaps with an activation behind them."""
    if isinstance(module, NormAct):
        return type(module).forward is NormAct.forward and not module.nonlinearity
    return isinstance(module, BatchNormAct | _BatchNorm) and module.running_var is not None


def _fold_all(model: nn.Module, before: dict[str, str]) -> None:
    for name, other in before.items():
        layer: Any = model.get_submodule(name)
        fold_into(model.get_submodule(other), layer)
        replace_everywhere(model, layer, _left_of(layer))


def _left_of(layer: Any) -> nn.Module:
    if not isinstance(layer, BatchNormAct) or layer.activation is None:
        return nn.Identity()
    return nn.ReLU() if layer.activation == "relu" else _Gate(layer)


class _Gate(nn.Module):
    """The activation of `bn-silu`, whose slope is trained."""

    def __init__(self, layer: BatchNormAct) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer.activate(x)


def is_same(output: Any, expected: Any) -> bool:
    """Equal but for rounding."""
    nothing = tree_map(lambda each: torch.zeros_like(each) if isinstance(each, Tensor) else each, expected)
    return distance(output, expected) <= ROUNDING * distance(expected, nothing)


@torch.no_grad()
def scale_and_shift(norm: Any) -> tuple[Tensor, Tensor]:
    if isinstance(norm, NormAct):
        return norm.weight.clone(), norm.bias.clone()
    scale = torch.rsqrt(norm.running_var + (norm.epsilon if isinstance(norm, BatchNormAct) else norm.eps))
    gamma = scale if norm.weight is None else scale * norm.weight
    shift = -norm.running_mean * gamma
    return gamma, shift if norm.bias is None else shift + norm.bias


@torch.no_grad()
def fold_into(before: nn.Module, norm: Any) -> None:
    """A norm's moving moments, gamma and beta into the weights before it; the norm itself becomes the identity."""
    scale, shift = scale_and_shift(norm)
    weights: Any = before
    weights.weight.mul_(scale.view(-1, *(1,) * (weights.weight.ndim - 1)))
    weights.bias = nn.Parameter(shift if weights.bias is None else weights.bias * scale + shift)
    if not isinstance(norm, NormAct):
        norm.running_mean.zero_()
        norm.running_var.fill_(1 - (norm.epsilon if isinstance(norm, BatchNormAct) else norm.eps))
    for name, value in (("weight", 1.0), ("bias", 0.0)):
        if getattr(norm, name) is not None:
            getattr(norm, name).fill_(value)


class Recorder:
    """Hooks on named modules, which are removed at the end."""

    def __init__(self) -> None:
        self.handles: list[Any] = []

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()


@torch.no_grad()
def modules_before(model: nn.Module, names: Sequence[str], batch: Example) -> dict[str, str]:
    """For each of the named modules the convolution or linear layer whose output it takes as it is."""
    made_by: dict[int, tuple[str, Tensor]] = {}
    runs: dict[str, int] = {}
    found: dict[str, str] = {}

    def made(name: str) -> Any:
        def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            runs[name] = runs.get(name, 0) + 1
            if type(module) in FOLDED or follows_its_weights(module, inputs[0], output):
                made_by[id(output)] = name, output

        return note

    def taken(name: str) -> Any:
        def note(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            if inputs and id(inputs[0]) in made_by:
                found[name] = made_by[id(inputs[0])][0]

        return note

    with Recorder() as recorder:
        for name, module in model.named_modules():
            if isinstance(module, FOLDED) and not is_parametrized(module):
                recorder.handles.append(module.register_forward_hook(made(name)))
        for name in names:
            recorder.handles.append(model.get_submodule(name).register_forward_pre_hook(taken(name)))
        call_with(model, batch)
    return {name: before for name, before in found.items() if runs[before] == 1}


def follows_its_weights(module: Any, x: Tensor, y: Tensor) -> bool:
    """Whether somebody's convolution is linear in its weight and bias: one that standardizes its weight is not."""
    own = [each for each in (module.weight, module.bias) if each is not None]
    for each in own:
        each.mul_(2)
    doubled = module.forward(x)
    for each in own:
        each.div_(2)
    return is_same(doubled, 2 * y)
