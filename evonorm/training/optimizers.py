"""Optimizers by name. A new one is a row of the table and a word of `TrainingRecipe.optimizer`."""

from collections.abc import Callable, Set
from typing import Any

import torch
from torch import nn

from evonorm.training.recipe import TrainingRecipe

Groups = list[dict[str, Any]]


def nesterov_sgd(groups: Groups, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum, nesterov=True, fused=True)


OPTIMIZERS: dict[str, Callable[[Groups, TrainingRecipe], torch.optim.Optimizer]] = {"nesterov": nesterov_sgd}


def create_optimizer(net: nn.Module, undecayed: Set[str], recipe: TrainingRecipe) -> torch.optim.Optimizer:
    """The recipe's optimizer over all parameters of a net, weight decay on those that are not exempt."""
    decayed = [parameter for name, parameter in net.named_parameters() if name not in undecayed]
    others = [parameter for name, parameter in net.named_parameters() if name in undecayed]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return OPTIMIZERS[recipe.optimizer](groups, recipe)
