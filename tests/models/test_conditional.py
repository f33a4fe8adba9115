"""Conditional layers against a transcription in float64: values, and gradients of x, gains, biases and v1."""

import pytest
import torch

from evonorm.kernels import kernel_for
from evonorm.kernels.cpu.library import find_library
from evonorm.layers import NormAct, create_layer
from evonorm.models.gan.conditional import ConditionalLayer
from evonorm.training import reestimated_moments

EPS, GROUPS = 1e-5, 4
BATCH, CHANNELS, CONDITION = 6, 8, 20
LAYERS = ("bn-relu", "gn-relu", "ln-relu", "pixelnorm-relu", "evonorm-b0", "evonorm-s0")


def std(x, axes):
    return torch.sqrt(x.var(axes, keepdim=True, unbiased=False) + EPS)


def standardized(x, axes):
    return (x - x.mean(axes, keepdim=True)) / std(x, axes)


def grouped(x, function):
    b, c, h, w = x.shape
    return function(x.reshape(b, GROUPS, c // GROUPS, h, w)).expand(b, GROUPS, c // GROUPS, h, w).reshape(x.shape)


def transcribed(name, x, gain, bias, v1):
    """The layer with a gain and a bias per sample, as the paper and the notes of BigGAN write it."""
    gain, bias, v1 = gain[..., None, None], bias[..., None, None], v1[:, None, None]
    if name == "evonorm-b0":
        return x / torch.maximum(std(x, (0, 2, 3)), v1 * x + std(x, (2, 3))) * gain + bias
    if name == "evonorm-s0":
        return x * torch.sigmoid(v1 * x) / grouped(x, lambda g: std(g, (2, 3, 4))) * gain + bias
    z = {
        "bn-relu": lambda: standardized(x, (0, 2, 3)),
        "gn-relu": lambda: grouped(x, lambda g: standardized(g, (2, 3, 4))),
        "ln-relu": lambda: standardized(x, (1, 2, 3)),
        "pixelnorm-relu": lambda: x / torch.sqrt(x.square().mean(1, keepdim=True) + EPS),
    }[name]()
    return torch.clamp(z * gain + bias, min=0)


def made(name, momentum=0.1):
    layer = ConditionalLayer(lambda c: create_layer(name, c, groups=GROUPS, momentum=momentum), CHANNELS, CONDITION)
    with torch.no_grad():
        for projection in (layer.gain, layer.shift):
            torch.nn.init.orthogonal_(projection.weight)
            projection.weight.mul_(3)  # which spectral norm takes back
        if getattr(layer.layer, "v1", None) is not None:
            layer.layer.v1.add_(0.3 * torch.randn(CHANNELS))
    return layer


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients(name, channels_last):
    layer, seen = made(name), {}
    x, condition, probe = torch.randn(BATCH, CHANNELS, 5, 4), torch.randn(BATCH, CONDITION), torch.randn(BATCH, 8, 5, 4)
    x = (2 * x + 0.5).contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    x.requires_grad_()

    def keep(module, _, output):
        output.retain_grad()
        seen[module] = output

    for projection in (layer.gain, layer.shift):
        projection.register_forward_hook(keep)
    found = layer(x, condition)
    (found * probe).sum().backward()

    exact = x.detach().double().requires_grad_()
    gain, bias = ((each.weight.detach().double() / 3 @ condition.double().T).T for each in (layer.gain, layer.shift))
    gain, bias = (1 + gain).requires_grad_(), bias.requires_grad_()
    own = getattr(layer.layer, "v1", None)
    v1 = (torch.ones(CHANNELS) if own is None else own.detach()).double().requires_grad_()
    expected = transcribed(name, exact, gain, bias, v1)
    (expected * probe).sum().backward()
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    for ours, theirs in ((x, exact), (seen[layer.gain], gain), (seen[layer.shift], bias)):
        torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-4, atol=2e-5)
    if own is not None:
        torch.testing.assert_close(own.grad.double(), v1.grad, rtol=1e-4, atol=2e-5)
    assert (own is not None) == (name in ("evonorm-b0", "evonorm-s0"))


@pytest.mark.parametrize("name", LAYERS)
def test_parameters_are_two_projections_and_what_the_layer_has_besides_gamma_and_beta(name):
    names = {each for each, _ in made(name).named_parameters()}
    assert names - {"layer.v1"} == {"gain.weight", "shift.weight"}


def test_gains_are_one_on_average_at_the_start_and_biases_zero():
    layer, condition = made("evonorm-s0"), torch.randn(4000, CONDITION)
    gain, bias = 1 + layer.gain(condition), layer.shift(condition)
    assert gain.mean().item() == pytest.approx(1, abs=0.03)
    assert bias.mean().item() == pytest.approx(0, abs=0.03)
    assert gain.std().item() == pytest.approx(1, abs=0.05)  # orthogonal rows: as wide as the condition's numbers


@pytest.mark.parametrize("name", ["bn-relu", "evonorm-b0"])
def test_standing_statistics_are_a_plain_average(name):
    layer = made(name)
    batches = [(torch.randn(BATCH, CHANNELS, 5, 4) * (n + 1) + n, torch.randn(BATCH, CONDITION)) for n in range(5)]
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    values = torch.stack([x.transpose(0, 1).flatten(1) for x, _ in batches]).double()  # (batch, channel, value)
    with reestimated_moments(layer, batches):
        variance = values.var(2, unbiased=name == "bn-relu").mean(0)  # torch's BatchNorm keeps the unbiased one
        torch.testing.assert_close(layer.layer.running_var.double(), variance, rtol=1e-5, atol=1e-6)
        if name == "bn-relu":
            torch.testing.assert_close(layer.layer.running_mean.double(), values.mean((0, 2)), rtol=1e-5, atol=1e-6)
        x, condition = batches[0]
        rows = torch.cat([layer.eval()(x[i : i + 1], condition[i : i + 1]) for i in range(BATCH)])
        torch.testing.assert_close(layer(x, condition), rows, rtol=1e-4, atol=1e-5)  # no batch in it any more
    assert all(torch.equal(value, before[key]) for key, value in layer.state_dict().items())


@pytest.mark.skipif(find_library()[0] is None, reason="the native library is not built")
def test_the_layer_runs_on_the_fused_kernel():
    layer = made("evonorm-b0")
    assert isinstance(layer.layer, NormAct)
    call = layer.layer.kernel_call(torch.randn(BATCH, CHANNELS, 5, 4), torch.randn(BATCH, 8), torch.randn(BATCH, 8))
    assert kernel_for(call).name == "native"
