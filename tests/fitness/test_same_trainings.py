"""Trainings are what they were, to the bit, when the digests were made (2026-11-19, anew for another processor).

Convolutions round differently from processor to processor, so the bits are asked for where torch by itself gives the
bits that it gave on the machine that made the file; anywhere else the first losses must agree to rounding.
"""

import hashlib
import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from evonorm.fitness import FitnessRecipe, QualityRecipe
from evonorm.fitness.evaluate import number_of_threads
from evonorm.fitness.proxy_task import ProxyTask
from evonorm.training import TrainingRecipe

KEPT = Path(__file__).with_name("same_trainings.json")
STEPS = 6
RECIPE = FitnessRecipe(
    data="digits",
    threads=1,
    validation_images=64,
    moments="reestimated",
    quality=QualityRecipe(steps=1),
    training=TrainingRecipe(steps=STEPS),
)
ANCHORS = ("resnet-nano", "mobilenet-thin", "efficientnet-nano")
CASES = [
    (layer, anchor, schedule)
    for anchor in ANCHORS
    for layer in ("bn-relu", "evonorm-b0", "evonorm-s0")
    for schedule in ("constant", "cosine")
]


@cache
def bits_of_torch():
    """A digest of torch's own work: a few steps of a small net, and every convolution of the anchors, there and back.

    The small net alone is not enough: two processors agreed on it and not on the depthwise convolutions.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]), number_of_threads(1):
        torch.manual_seed(0)
        net = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 64, 1), nn.SiLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
        ).to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9, nesterov=True, fused=True)
        for _ in range(3):
            x = torch.randn(64, 3, 24, 24, generator=generator).to(memory_format=torch.channels_last)
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), torch.arange(64) % 10).backward()
            optimizer.step()
        found = hashlib.sha256(digest_of(net).encode())
        for conv, x in (each for anchor in ANCHORS for each in convolutions(anchor)):
            y = conv(x)
            gradients = torch.autograd.grad(y, [x, conv.weight], torch.randn_like(y))
            for tensor in (y, *gradients):
                found.update(tensor.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def convolutions(anchor):
    """The convolutions of an anchor and inputs of a training's shapes; all numbers are torch's, none are evonorm's."""
    task = ProxyTask("bn-relu", anchor, RECIPE, seed=0)
    seen = []
    for module in task.model.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(lambda conv, inputs, _: seen.append((conv, torch.empty_like(inputs[0]))))
    task.run.advance(1)
    torch.manual_seed(0)
    for conv, x in seen:
        nn.init.normal_(conv.weight)
        x.normal_().requires_grad_()
    return list(seen)  # the hooks go on


def digest_of(model):
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return found.hexdigest()


def trained(layer, anchor, schedule):
    recipe = replace(RECIPE, training=replace(RECIPE.training, schedule=schedule))
    with number_of_threads(1):
        task = ProxyTask(layer, anchor, recipe, seed=3)
        assert task.run.advance(STEPS) == "reached"
        accuracy = task.validate()
    return {
        "losses": [loss.hex() for loss in task.run.losses],
        "weights": digest_of(task.model),
        "accuracy": accuracy,
    }


@pytest.mark.parametrize(("layer", "anchor", "schedule"), CASES)
def test_the_training_is_what_it_was(layer, anchor, schedule):
    kept = json.loads(KEPT.read_text())
    before, now = kept["trainings"][f"{layer} {anchor} {schedule}"], trained(layer, anchor, schedule)
    first, found = (float.fromhex(each["losses"][0]) for each in (before, now))
    assert math.isclose(first, found, rel_tol=1e-4)
    if kept["bits of torch"] == bits_of_torch():
        assert now == before


if __name__ == "__main__":
    trainings = {" ".join(case): trained(*case) for case in CASES}
    KEPT.write_text(json.dumps({"bits of torch": bits_of_torch(), "trainings": trainings}, indent=1) + "\n")
