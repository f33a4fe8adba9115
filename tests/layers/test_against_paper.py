"""Values and gradients of every named layer against the independent float64 transcription of the paper."""

import math

import numpy as np
import pytest
import torch

import evonorm
from evonorm.layers import BatchNormAct, GroupNormAct
from evonorm.layers.conventions import largest_divisor
from tests.layers.paper_reference import LAYERS, gradient, layer_output

SHAPES = [(2, 64, 5, 7), (3, 24, 4, 4), (1, 32, 1, 1), (8, 20, 9), (4, 12), (2, 8, 3, 4, 5)]
POLES = {"b0-no-global", "b0-add"}  # their denominators cross zero: drawn where they do not
CHOSEN_ELEMENTS = 48


def error(a, b):
    """max|a-b| / max|b|; where b is zero everywhere (a set of one value has no gradient), the cotangent's size 1."""
    return float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1.0))


class Case:
    """One layer on one shape with random parameters, moving moments and cotangent."""

    def __init__(self, name, shape, dtype, nonlinearity=True, training=True):
        self.name, self.shape, self.nonlinearity, self.training = name, shape, nonlinearity, training
        rng = np.random.default_rng([len(name), *shape])
        channels = shape[1]
        self.flat = (shape[0], channels, math.prod(shape[2:]))
        self.groups = 1 if name.startswith("ln") else largest_divisor(channels, 32)
        x = rng.normal(size=shape)
        if name in POLES:
            x = np.abs(x) + 0.2
        draw = {key: rng.normal(size=channels) for key in ("gamma", "beta", "v0")} | {"v1": 0.5 + rng.random(channels)}
        as_dtype = np.float32 if dtype == torch.float32 else np.float64
        self.parameters = {key: value.astype(as_dtype).astype(float) for key, value in draw.items()}
        self.x = x.astype(as_dtype).astype(float)
        self.cotangent = rng.normal(size=shape).astype(as_dtype).astype(float)
        self.moving = {
            key: (0.5 + rng.random(channels)).astype(as_dtype).astype(float)
            for key in ("running_mean", "running_square", "running_var")
        }
        self.chosen_x = rng.permutation(x.size)[:CHOSEN_ELEMENTS]
        self.layer = self.make_layer(dtype)

    def make_layer(self, dtype):
        layer = evonorm.create_layer(self.name, self.shape[1], nonlinearity=self.nonlinearity).to(dtype)
        names = {"gamma": "weight", "beta": "bias", "v0": "v0", "v1": "v1"}
        with torch.no_grad():
            for key, value in self.parameters.items():
                if getattr(layer, names[key], None) is not None:
                    getattr(layer, names[key]).copy_(torch.from_numpy(value))
            for key, value in self.moving.items():
                if key in dict(layer.named_buffers()):
                    getattr(layer, key).copy_(torch.from_numpy(value))
        return layer.train(self.training)

    def ours(self, dtype):
        x = torch.from_numpy(self.x).to(dtype).requires_grad_()
        y = self.layer(x)
        y.backward(torch.from_numpy(self.cotangent).to(dtype))
        return y.detach().double().numpy(), x.grad.double().numpy()

    def settings(self):
        moving = {key: value[:, None] for key, value in self.moving.items()}
        settings = {"groups": self.groups, "nonlinearity": self.nonlinearity}
        return settings | ({} if self.training else {"moving": moving})

    def inputs(self):
        return {"x": self.x.reshape(self.flat)} | {k: v.reshape(1, -1, 1) for k, v in self.parameters.items()}

    def expected_output(self):
        inputs = self.inputs()
        x = inputs.pop("x")
        return layer_output(self.name, x, inputs, **self.settings()).reshape(self.shape)

    def expected_gradient(self, which, elements):
        chosen = [(which, i) for i in elements]
        return gradient(self.name, self.inputs(), self.cotangent.reshape(self.flat), chosen, **self.settings())

    def torch_refuses(self):
        values_per_channel = self.shape[0] * self.flat[2]
        if isinstance(self.layer, BatchNormAct):
            return self.training and values_per_channel == 1
        return isinstance(self.layer, GroupNormAct) and values_per_channel * self.shape[1] // self.groups == 1


def check(case, dtype, value_tolerance, gradient_tolerance):
    if case.torch_refuses():
        with pytest.raises(ValueError, match="more than 1 value"):
            case.ours(dtype)
        return
    y, grad_x = case.ours(dtype)
    assert error(y, case.expected_output()) <= value_tolerance
    expected = case.expected_gradient("x", case.chosen_x)
    assert error(grad_x.reshape(-1)[case.chosen_x], expected) <= gradient_tolerance
    for key, name in (("gamma", "weight"), ("beta", "bias"), ("v0", "v0"), ("v1", "v1")):
        parameter = getattr(case.layer, name, None)
        if parameter is not None:
            expected = case.expected_gradient(key, range(case.shape[1]))
            assert error(parameter.grad.double().numpy(), expected) <= gradient_tolerance, key


def test_the_transcription_knows_every_named_layer():
    assert set(LAYERS) == set(evonorm.layer_names())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", evonorm.layer_names())
def test_float64(name, shape):
    check(Case(name, shape, torch.float64), torch.float64, 1e-10, 1e-10)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", evonorm.layer_names())
def test_float32(name, shape):
    case = Case(name, shape, torch.float32)
    one_value_per_set = math.prod(shape[2:]) == 1
    check(case, torch.float32, 2e-6, 1e-3 if one_value_per_set else 2e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", evonorm.layer_names())
def test_evaluation_mode_reads_the_moving_moments(name, shape):
    check(Case(name, shape, torch.float64, training=False), torch.float64, 1e-10, 1e-10)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", evonorm.layer_names())
def test_without_the_nonlinearity(name, training):
    case = Case(name, (3, 24, 4, 4), torch.float64, nonlinearity=False, training=training)
    check(case, torch.float64, 1e-10, 1e-10)
