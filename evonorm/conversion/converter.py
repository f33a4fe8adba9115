"""`positions` looks, `convert` looks, checks and replaces."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from evonorm.conversion.activations import ACTIVATIONS, Counted, counted
from evonorm.conversion.calibrate import Calibration, one_batch
from evonorm.conversion.check import check_surgery
from evonorm.conversion.decide import Decision, decide
from evonorm.conversion.run import Example, call_with, example_for, fresh, quietly
from evonorm.conversion.seen import Seen
from evonorm.conversion.start import LayerChoice, new_layer
from evonorm.conversion.surgery import operate
from evonorm.conversion.table import AFFINE, CONVERT, Positions
from evonorm.conversion.watch import Watch, norms_in

RECORD = "evonorm_positions"


def positions(
    model: nn.Module,
    example: Example = None,
    *,
    activations: Iterable[str | type[nn.Module]] = ACTIVATIONS,
    only: str | Sequence[str] = "*",
    without_activation: str = "affine",
) -> Positions:
    """Every normalization of a model, the activation behind it, and what `convert` would do. Changes nothing.

    Runs a copy of the model with the example, in evaluation and, if it can, in training, and sees which functions take
    what the normalizations put out.

    Arguments:
        model: any module.
        example: what to call it with: a tensor, a tuple of arguments or a dict of arguments by name. Without one, noise
            of several usual shapes is tried.
        activations: those that count, by name, or as classes of modules of your own.
        only: patterns such as "layer1" or "*.bn2", for names of modules; a part counts with everything in it.
        without_activation: "affine", the paper's choice, or "keep".

    Raises ValueError for impossible arguments, and if no input that was tried runs through the model.

    Example: print(evonorm.positions(torchvision.models.resnet18(), torch.randn(2, 3, 64, 64)))
    """
    choices = _Choices(activations, only, without_activation)
    return _look(model, example, choices).positions


def convert(
    model: nn.Module,
    layer: LayerChoice = "evonorm-s0",
    example: Example = None,
    *,
    activations: Iterable[str | type[nn.Module]] = ACTIVATIONS,
    only: str | Sequence[str] = "*",
    without_activation: str = "affine",
    groups: int | None = None,
    calibrate: Any = None,
) -> nn.Module:
    """Puts a layer where a model has a normalization and an activation behind it. In place; returns the model.

    Every other module and weight stays. A layer that is the same normalization takes it over whole, so `bn-relu` leaves
    the outputs as they are; any other starts fresh. Where there is no activation, the layer is made with
    `nonlinearity=False`: an affine for EvoNorms, with the moving moments of the BatchNorm folded in. What cannot be
    decided is left alone; `positions` tells what and why. Before anything is replaced, a self-check takes the
    activations out of a copy, puts them behind their old normalizations, and compares the outputs.

    What was done is kept as `model.evonorm_positions`, and in the config of a Hugging Face model. Make the optimizer
    afterwards: parameters are new.

    Arguments:
        model, example, activations, only: as in `positions`.
        layer: a name, a formula or a Graph as in `create_layer`, or a function (channels, nonlinearity) -> module.
        without_activation: "affine" makes the layer with `nonlinearity=False`, "keep" keeps the normalization.
        groups: of channels, for layers with moments over groups: 32, and 1 with `calibrate`, which comes closer to a
            normalization over the batch. A GroupNorm hands its own number on.
        calibrate: some inputs as the model takes them, 64 or more: a batch, or several. The new layers then start as
            close as they can be to what they replace, see docs/guide/fine_tune.md; BatchNorms go into the convolutions.

    Raises ValueError for impossible arguments, if no input that was tried runs through the model, and if there is
    nothing to convert; SurgeryError, with the position, if the self-check fails. The model is then as it was.

    Example:
        model = evonorm.convert(torchvision.models.resnet18(), "evonorm-s0", torch.randn(2, 3, 64, 64))
        assert isinstance(model.bn1, evonorm.EvoNormS0)
    """
    look = _look(model, example, _Choices(activations, only, without_activation))
    if not look.positions.with_action(CONVERT):
        raise ValueError(
            "there is no normalization with an activation behind it that could be converted. Nothing was changed.\n"
            f"{look.positions}"
        )
    check_surgery(model, look.decisions, look.example, look.outputs)
    groups = groups or (32 if calibrate is None else 1)
    calibration = None if calibrate is None else Calibration(model, look.decisions, one_batch(calibrate))
    new = {}
    for each in look.decisions:
        if each.position.action in (CONVERT, AFFINE):
            old, nonlinearity = model.get_submodule(each.name), each.position.action == CONVERT
            new[each.name] = new_layer(layer, groups, look.seen.norms[each.name], old, nonlinearity)
    if calibration is not None:
        calibration.fold_norms(model, new, look.seen.norms)
    operate(model, look.decisions, new)
    if calibration is not None:
        look.remarks.append(calibration.start(model))
    _keep_record(model, layer, look.positions)
    return model


class _Choices:
    """The user's choices, checked."""

    def __init__(
        self, activations: Iterable[str | type[nn.Module]], only: str | Sequence[str], without_activation: str
    ) -> None:
        self.count: Counted = counted([activations] if isinstance(activations, str) else activations)
        self.only = [only] if isinstance(only, str) else list(only)
        if without_activation not in ("affine", "keep"):
            raise ValueError(f"without_activation must be 'affine' or 'keep', got {without_activation!r}.")
        self.without_activation = without_activation


class _Look:
    """What a look at the model gave: decisions, and the outputs that a surgery must not change."""

    def __init__(self, seen: Seen, decisions: list[Decision], example: Example, outputs: dict[bool, list[Any]]) -> None:
        self.seen, self.decisions, self.example, self.outputs = seen, decisions, example, outputs
        self.remarks: list[str] = []

    @property
    def positions(self) -> Positions:
        return Positions([each.position for each in self.decisions], self.remarks)


def _look(model: nn.Module, example: Example, choices: _Choices) -> _Look:
    if any(type(each).__name__ == "OptimizedModule" for each in model.modules()):  # its import would load all of dynamo
        raise ValueError("the model is compiled. Convert it first, then compile it.")
    try:
        trial = copy.deepcopy(model)
    except Exception as error:
        raise ValueError(f"a copy of the model is needed, and copy.deepcopy fails: {error}") from error
    if example is None:
        example = example_for(trial)
    seen = Seen(norms_in(model, choices.count))
    outputs = {False: [_watched(trial, seen, choices, example, training=False)]}
    with quietly(trial, training=False):
        outputs[False].append(call_with(trial, fresh(example)))
    remarks = []
    try:
        outputs[True] = [_watched(trial, seen, choices, example, training=True)]
    except Exception as error:
        remarks.append(f"Seen in evaluation only; in training the example gives {type(error).__name__}: {error}")
    look = _Look(seen, decide(model, seen, choices.only, choices.without_activation), example, outputs)
    look.remarks = remarks
    return look


def _watched(trial: nn.Module, seen: Seen, choices: _Choices, example: Example, training: bool) -> Any:
    watch = Watch(trial, seen, choices.count)
    with quietly(trial, training), watch.hooks(), watch:
        output = call_with(trial, fresh(example))
    watch.finish(output)
    return output


def _keep_record(model: nn.Module, layer: LayerChoice, done: Positions) -> None:
    """On the model, and where Hugging Face saves what a model is: `from_pretrained` alone would build the old one."""
    setattr(model, RECORD, done)
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_json_string"):
        config.evonorm = {"layer": str(layer), "positions": done.as_dicts()}
