"""The self-check: the same surgery, with modules that are the same function, must not change what the model says."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from evonorm.conversion.decide import Decision
from evonorm.conversion.run import Example, call_with, fresh, quietly
from evonorm.conversion.surgery import operate


class SurgeryError(RuntimeError):
    """The self-check failed: the model says something else after a surgery that should change nothing."""


class NormThenActivation(nn.Module):
    """The old normalization with its old activation: what a new layer stands in for."""

    def __init__(self, norm: nn.Module, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.norm, self.activation = norm, activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.norm(x))


def check_surgery(
    model: nn.Module, decisions: Sequence[Decision], example: Example, expected: dict[bool, list[Any]]
) -> None:
    """Raises SurgeryError, with the position, if the surgery changes an output. The model itself is not touched.

    `expected` has the outputs of the undisturbed model, by whether it was training; two runs in evaluation show its
    own noise, which is none on a CPU.
    """
    concerned = [each for each in decisions if each.takings]
    if all(_agrees(model, concerned, example, expected)):
        return
    low, high = 0, len(concerned)  # the shortest beginning that fails ends with what is to blame
    while high - low > 1:
        middle = (low + high) // 2
        if all(_agrees(model, concerned[:middle], example, expected)):
            low = middle
        else:
            high = middle
    position = concerned[high - 1].position
    raise SurgeryError(
        f"the self-check failed at {position.name} ({position.norm}, {position.activation}: {position.where}): without"
        " any new layer, taking the activation out changes the model's output. Nothing was changed. Leave this part out"
        f" with `only=`, or tell us: this should not happen."
    )


def with_pairs(model: nn.Module, decisions: Sequence[Decision]) -> nn.Module:
    """A copy that is the same function: activations are taken out, and stand behind their old normalizations."""
    trial = copy.deepcopy(model)
    concerned = [each for each in decisions if each.takings]
    pairs = {}
    for each in concerned:
        norm, activation = trial.get_submodule(each.name), each.activation
        inside = trial.get_submodule(activation) if isinstance(activation, str) else activation
        assert inside is not None
        pairs[each.name] = NormThenActivation(norm, inside)
    operate(trial, concerned, pairs)
    return trial


def _agrees(
    model: nn.Module, decisions: Sequence[Decision], example: Example, expected: dict[bool, list[Any]]
) -> list[bool]:
    trial = with_pairs(model, decisions)
    noise = max(distance(expected[False][0], other) for other in expected[False])
    found = []
    for training, outputs in expected.items():
        with quietly(trial, training):
            found.append(distance(call_with(trial, fresh(example)), outputs[0]) <= 10 * noise)
    return found


def distance(one: Any, other: Any) -> float:
    """The largest difference between two outputs; not-a-numbers in the same places are equal."""
    tensors = [[each for each in tree_leaves(output) if isinstance(each, Tensor)] for output in (one, other)]
    if [each.shape for each in tensors[0]] != [each.shape for each in tensors[1]]:
        return torch.inf
    gaps = [0.0]
    for a, b in zip(*tensors, strict=True):
        if not torch.equal(a, b):
            difference = torch.where((a == b) | (a.isnan() & b.isnan()), 0, (a.double() - b.double()).abs())
            gaps.append(float(difference.nan_to_num(nan=torch.inf).max()) if difference.numel() else 0.0)
    return max(gaps)
