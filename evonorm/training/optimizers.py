"""Optimizers by name. A new one is a row of the table and a word of `TrainingRecipe.optimizer`."""

from collections.abc import Callable, Set
from typing import Any

import torch
from torch import nn

from evonorm.foundation import needs
from evonorm.training.recipe import TrainingRecipe

Groups = list[dict[str, Any]]


def nesterov_sgd(groups: Groups, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum, nesterov=True, fused=True)


def plain_sgd(groups: Groups, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum, fused=True)


def tensorflow_rmsprop(groups: Groups, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    """Squares start at 1, epsilon inside the root, the rate inside the momentum: torch's own is another optimizer."""
    with needs("vision", "RMSprop as TensorFlow's"):
        from timm.optim.rmsprop_tf import RMSpropTF
    return RMSpropTF(groups, lr=recipe.learning_rate, alpha=recipe.decay, eps=recipe.epsilon, momentum=recipe.momentum)


def adam(groups: Groups, recipe: TrainingRecipe) -> torch.optim.Optimizer:
    betas = float(recipe.momentum), recipe.decay
    return torch.optim.Adam(groups, lr=recipe.learning_rate, betas=betas, eps=recipe.epsilon, fused=True)


OPTIMIZERS: dict[str, Callable[[Groups, TrainingRecipe], torch.optim.Optimizer]] = {
    "nesterov": nesterov_sgd,
    "momentum": plain_sgd,
    "rmsprop": tensorflow_rmsprop,
    "adam": adam,
}


def create_optimizer(net: nn.Module, undecayed: Set[str], recipe: TrainingRecipe) -> torch.optim.Optimizer:
    """The recipe's optimizer over all parameters of a net, weight decay on those that are not exempt."""
    decayed = [parameter for name, parameter in net.named_parameters() if name not in undecayed]
    others = [parameter for name, parameter in net.named_parameters() if name in undecayed]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return OPTIMIZERS[recipe.optimizer](groups, recipe)
