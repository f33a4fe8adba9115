"""Adam by name: its update by hand, and whose momentum may be zero."""

import pytest
import torch
from torch import nn

from evonorm.training import TrainingRecipe
from evonorm.training.optimizers import create_optimizer

ADAM = TrainingRecipe(optimizer="adam", momentum=0.0, decay=0.99, epsilon=1e-6, learning_rate=0.1, weight_decay=0.0)


def test_without_momentum_it_divides_by_the_root_of_the_averaged_squares():
    net = nn.Linear(3, 1, bias=False).double()
    optimizer = create_optimizer(net, frozenset(), ADAM)
    weight, squares = net.weight.detach().clone(), torch.zeros(1, 3).double()
    for step in range(1, 4):
        gradient = torch.randn(1, 3).double()
        net.weight.grad = gradient.clone()
        optimizer.step()
        squares = 0.99 * squares + 0.01 * gradient**2
        weight -= 0.1 * gradient / ((squares / (1 - 0.99**step)).sqrt() + 1e-6)
        torch.testing.assert_close(net.weight.detach(), weight)


def test_a_momentum_of_zero_is_for_adam():
    with pytest.raises(ValueError, match="momentum must lie between 0 and 1"):
        TrainingRecipe(momentum=0.0)
    with pytest.raises(ValueError, match="momentum must lie between 0 and 1"):
        TrainingRecipe(optimizer="adam", momentum=1.0)
    with pytest.raises(ValueError, match="decay must lie between 0 and 1, got 1"):
        TrainingRecipe(optimizer="adam", momentum=0.0, decay=1.0)
