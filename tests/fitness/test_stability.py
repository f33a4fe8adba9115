from dataclasses import replace

import pytest
import torch
from torch import nn

from evonorm.data import load_data
from evonorm.data.crops import CropBatches
from evonorm.fitness import StabilityRecipe, ascend_gradient_norm
from evonorm.fitness.stability import _Landscape
from evonorm.models import create_model

pytest.importorskip("sklearn")


def batch(size=8):
    data = load_data("digits")
    return CropBatches(data.training, size, 24, data.mean, data.std, seed=0).batch(0)


def anchor(layer, name="resnet-nano", seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return create_model(name, layer)


def smooth_net(dropout=0.0):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 5, stride=4), nn.Tanh(), nn.Flatten(), nn.Dropout(dropout), nn.Linear(100, 10), nn.Tanh()
    )
    return net.double()


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def test_both_directions_are_the_gradient_of_the_gradient_norm():
    pictures, labels = batch()
    landscape = _Landscape(smooth_net(), (pictures.double(), labels), seed=0)
    norm, exact = landscape.norm_and_direction("exact", last=False)
    _, differences = landscape.norm_and_direction("differences", last=False)
    exact, differences = flat(exact), flat(differences)
    assert torch.nn.functional.cosine_similarity(exact, differences, dim=0) > 0.999
    torch.testing.assert_close(exact.norm(), differences.norm(), rtol=0.02, atol=0)
    # an independent check: a small step along the direction raises the norm by its length times the slope
    landscape.move(landscape.norm_and_direction("exact", last=False)[1], 1e-6)
    after, _ = landscape.norm_and_direction("exact", last=True)
    assert (after - norm) / 1e-6 == pytest.approx(float(exact.square().sum()), rel=1e-3)


def test_looking_for_a_direction_leaves_the_weights_as_they_were():
    pictures, labels = batch()
    net = smooth_net()
    before = flat(net.parameters()).clone()
    _Landscape(net, (pictures.double(), labels), seed=0).norm_and_direction("differences", last=False)
    assert torch.equal(flat(net.parameters()), before)


def test_dropout_is_the_same_at_every_step():
    pictures, labels = batch()
    landscape = _Landscape(smooth_net(dropout=0.5), (pictures.double(), labels), seed=3)
    assert torch.equal(flat(landscape.gradient()), flat(landscape.gradient()))


EXPECTED = {
    "bn-relu": True,
    "gn-silu": True,
    "evonorm-b0": True,
    "evonorm-s0": True,
    "random-rej": True,
    "max(x, 0)": False,
    "b0-no-global": False,
    "exp(x)": False,
}


@pytest.mark.parametrize("layer", EXPECTED)
def test_exact_and_differences_agree_in_verdict(layer):
    pictures, labels = batch()
    recipe = StabilityRecipe(steps=10)
    readings = [
        ascend_gradient_norm(anchor(layer), (pictures, labels), replace(recipe, direction=direction))
        for direction in ("exact", "differences")
    ]
    assert [reading.stable for reading in readings] == [EXPECTED[layer]] * 2
    for reading in readings:
        assert reading.steps == 10 if reading.stable else reading.steps < 5


def test_the_ascent_raises_the_norm_and_is_repeatable():
    pictures, labels = batch()
    readings = [ascend_gradient_norm(anchor("evonorm-s0"), (pictures, labels), StabilityRecipe(steps=6)) for _ in "ab"]
    assert readings[0] == readings[1]
    assert readings[0].norms[-1] > 2 * readings[0].norms[0]
    assert readings[0].finite
    assert readings[0].largest_finite == max(readings[0].norms)


def test_the_limit_decides_and_the_reading_ends_there():
    pictures, labels = batch()
    seen = []
    recipe = StabilityRecipe(steps=6, gradient_norm=1.0)
    reading = ascend_gradient_norm(
        anchor("evonorm-s0"), (pictures, labels), recipe, on_step=lambda step, norm: seen.append((step, norm))
    )
    assert not reading.stable
    assert reading.norms[-1] > 1 >= max(reading.norms[:-1])
    assert seen == list(enumerate(reading.norms))


def test_a_layer_that_ignores_its_input_has_nowhere_to_ascend():
    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(10))

        def forward(self, x):
            return torch.zeros(len(x), 10) * self.weight

    reading = ascend_gradient_norm(Flat(), batch(), StabilityRecipe(steps=5))
    assert reading.stable
    assert reading.norms == (0.0,)
