"""timm's EvoNorms on the same weights. Where timm leaves the paper, the test says so and agrees with those settings."""

import pytest
import torch

import evonorm

timm_layers = pytest.importorskip("timm.layers.evo_norm", reason="timm is in the dev extra")


def pair(name, channels, eps=1e-5):
    theirs = getattr(timm_layers, f"EvoNorm2d{name[-2:].upper()}")(channels)
    ours = evonorm.create_layer(name, channels, eps=eps)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    state = {"v1" if key == "v" else key: value for key, value in theirs.state_dict().items()}
    ours.load_state_dict(state, strict=True)
    return ours, theirs


def both_outputs(ours, theirs, x):
    grads = []
    for layer in (ours, theirs):
        leaf = x.clone().requires_grad_()
        y = layer(leaf)
        y.square().sum().backward()
        grads.append((y.detach(), leaf.grad, layer.weight.grad, layer.bias.grad))
    return grads


@pytest.mark.parametrize("name", ["evonorm-s0", "evonorm-s1", "evonorm-s2", "evonorm-b1", "evonorm-b2"])
def test_same_weights_same_outputs_and_gradients(name):
    ours, theirs = pair(name, 64)
    x = torch.randn(4, 64, 6, 6, generator=torch.Generator().manual_seed(1))
    for one, two in zip(*both_outputs(ours, theirs, x), strict=True):
        torch.testing.assert_close(one, two, rtol=2e-4, atol=2e-5)


def test_timms_b0_has_eps_1e_3():
    x = torch.randn(4, 64, 6, 6, generator=torch.Generator().manual_seed(1)) * 0.05
    ours, theirs = pair("evonorm-b0", 64, eps=1e-3)
    for one, two in zip(*both_outputs(ours, theirs, x), strict=True):
        torch.testing.assert_close(one, two, rtol=2e-4, atol=2e-5)
    papers, theirs = pair("evonorm-b0", 64)
    assert (papers(x) - theirs(x)).abs().max() > 0.1, "the paper's eps 1e-5 gives other values on small inputs"


@pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-b1", "evonorm-b2"])
def test_timms_moving_variance_is_unbiased(name):
    ours, theirs = pair(name, 8, eps=1e-3 if name == "evonorm-b0" else 1e-5)
    x = torch.randn(4, 8, 3, 3, generator=torch.Generator().manual_seed(1))
    ours(x)
    theirs(x)
    count = 4 * 3 * 3
    new = (ours.running_var - 0.9) * count / (count - 1)
    torch.testing.assert_close(0.9 + new, theirs.running_var)
    theirs.load_state_dict({**theirs.state_dict(), "running_var": ours.running_var})
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-5, atol=1e-5)
