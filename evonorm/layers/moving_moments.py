"""Moving moments of a whole model: found anew, or held still. torch's own ways know torch's classes only."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn


def layers_with_moments(model: nn.Module) -> list[Any]:
    """The layers that keep moving moments now: ours, and torch's BatchNorm and its kind."""
    return [each for each in model.modules() if getattr(each, "track_running_stats", False)]


@torch.no_grad()
def update_moments(model: nn.Module, loader: Iterable[Any]) -> nn.Module:
    """Sets every moving moment to its plain average over batches, as `swa_utils.update_bn` does for BatchNorm alone.

    For averaged weights, and wherever weights changed without training. Parameters and modes stay as they are; layers
    that are held by `freeze_moments` stay, too.

    Arguments:
        model: changed in place, and returned.
        loader: batches: a tensor, a tuple or list whose first item is the model's input, or a dict of its arguments.

    Raises ValueError if there is no batch.

    Example:
        model = evonorm.create_model("resnet-nano", layer="evonorm-b0")
        averaged = torch.optim.swa_utils.AveragedModel(model)
        evonorm.update_moments(averaged, [torch.randn(8, 3, 24, 24) for _ in range(3)])
    """
    layers = [each for each in layers_with_moments(model) if not is_frozen(each)]
    momenta = [each.momentum for each in layers]
    modes = [(each, each.training) for each in model.modules()]
    number = 0
    try:
        model.train()
        for number, batch in enumerate(loader, start=1):
            for layer in layers:
                if number == 1:
                    layer.reset_running_stats()
                layer.momentum = 1 / number
            _call(model, batch)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, training in modes:
            module.training = training
    if number == 0:
        raise ValueError("update_moments got no batch: the moving moments are as they were. Give at least one.")
    return model


def _call(model: nn.Module, batch: Any) -> None:
    if isinstance(batch, Mapping):
        model(**batch)
    else:
        model(batch[0] if isinstance(batch, tuple | list) else batch)


def freeze_moments(model: nn.Module, frozen: bool = True) -> nn.Module:
    """Makes every layer use its moving moments and leave them as they are, in training too; gradients still flow.

    Unlike the usual loop with `layer.eval()`, it finds our layers beside torch's, and `model.train()` does not undo it.

    Arguments:
        model: changed in place, and returned.
        frozen: False lets the layers go again, in the mode that the model is in.

    Example:
        model = evonorm.create_model("resnet-nano", layer="evonorm-b0")
        evonorm.freeze_moments(model).train()  # batches of a few pictures do not disturb it any more
    """
    for layer in layers_with_moments(model):
        if frozen and not is_frozen(layer):
            layer.register_forward_pre_hook(stay_in_evaluation)
            layer.eval()
        elif not frozen and is_frozen(layer):
            hooks = layer._forward_pre_hooks
            for number in [number for number, hook in hooks.items() if hook is stay_in_evaluation]:
                del hooks[number]
            layer.train(model.training)
    return model


def stay_in_evaluation(layer: nn.Module, _: object) -> None:
    """A hook before the forward of a frozen layer: whatever mode the model is in, this layer evaluates."""
    if layer.training:
        layer.eval()


def is_frozen(layer: nn.Module) -> bool:
    return stay_in_evaluation in layer._forward_pre_hooks.values()
