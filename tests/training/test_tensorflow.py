"""Our optimizers, average and loss against values that TensorFlow gave (`write_tensorflow_values.py`)."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from evonorm.training import AverageRecipe, TrainingRecipe, classification_loss
from evonorm.training.average import AveragedWeights
from evonorm.training.optimizers import create_optimizer

STORED = json.loads((Path(__file__).parent / "tensorflow_values.json").read_text())


class Vector(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.value = nn.Parameter(torch.tensor(start))


@pytest.mark.parametrize("name", ["nesterov", "rmsprop"])
def test_an_optimizer_goes_tensorflows_way(name):
    stored = STORED[name]
    vector = Vector(stored["start"])
    settings = {key: stored[key] for key in ("momentum", "decay", "epsilon") if key in stored}
    optimizer = create_optimizer(vector, set(), TrainingRecipe(optimizer=name, weight_decay=0.0, **settings))
    for rate, gradient, after in zip(
        stored["learning_rates"], stored["gradients"], stored["after_each_step"], strict=True
    ):
        vector.value.grad = torch.tensor(gradient)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        torch.testing.assert_close(vector.value.detach(), torch.tensor(after), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["moving_average", "moving_average_capped"])
def test_the_average_of_weights_is_tensorflows(name):
    stored = STORED[name]
    vector = Vector(stored["start"])
    average = AveragedWeights([vector], AverageRecipe(decay=stored["decay"]))
    for step, (value, after) in enumerate(zip(stored["values"], stored["after_each_step"], strict=True), start=1):
        with torch.no_grad():
            vector.value.copy_(torch.tensor(value))
        average.update(step)
        torch.testing.assert_close(average.average[0], torch.tensor(after), rtol=1e-6, atol=1e-6)


def test_smoothed_labels_give_tensorflows_loss_and_gradient():
    stored = STORED["cross_entropy"]
    logits = torch.tensor(stored["logits"], requires_grad=True)
    batch = logits, torch.tensor(stored["labels"])
    loss = classification_loss(nn.Identity(), batch, stored["label_smoothing"])
    loss.backward()
    torch.testing.assert_close(loss.detach(), torch.tensor(stored["value"]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(logits.grad, torch.tensor(stored["gradient"]), rtol=1e-6, atol=1e-6)
