"""Spectral norm: the largest singular value becomes 1, gradients are right, and when a vector moves."""

import pytest
import torch

from evonorm.models.gan.spectral_norm import SpectralConv2d, SpectralEmbedding, SpectralLinear, as_matrix

MODULES = {
    "conv": lambda: SpectralConv2d(6, 10, 3),
    "wide": lambda: SpectralConv2d(24, 4, 1, bias=False),
    "linear": lambda: SpectralLinear(12, 7),
    "embedding": lambda: SpectralEmbedding(9, 5),
}


def made(name, dtype=torch.float32):
    module = MODULES[name]().to(dtype)
    with torch.no_grad():
        module.weight.copy_(3 * torch.randn_like(module.weight))
    return module


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_the_largest_singular_value_becomes_one(name, channels_last):
    module = made(name)
    if channels_last:
        module.to(memory_format=torch.channels_last)
    for _ in range(200):
        normalized = module.normalized()
    assert torch.linalg.matrix_norm(as_matrix(normalized), 2).item() == pytest.approx(1, abs=1e-4)
    left, values, _ = torch.linalg.svd(as_matrix(module.weight.detach()), full_matrices=False)
    torch.testing.assert_close(module.u.abs(), left[:, 0].abs(), rtol=0, atol=1e-2)
    torch.testing.assert_close(normalized * values[0], module.weight, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_those_of_the_weight_over_its_singular_value(name):
    module = made(name, torch.float64)
    for _ in range(400):
        module.normalized()
    probe = torch.randn_like(module.weight)
    (module.normalized() * probe).sum().backward()
    exact = module.weight.detach().clone().requires_grad_()
    (exact / torch.linalg.matrix_norm(exact.flatten(1), 2) * probe).sum().backward()
    torch.testing.assert_close(module.weight.grad, exact.grad, rtol=1e-6, atol=1e-8)


def test_a_vector_moves_once_for_each_update():
    module, x = made("linear"), torch.randn(3, 12)
    starts = [module.u.clone()]

    def moved():
        starts.append(module.u.clone())
        return not torch.equal(starts[-1], starts[-2])

    module(x).sum().backward()
    assert moved()
    module(x).sum().backward()  # a second logical worker, with the same weights as the first
    assert not moved()
    module.zero_grad()
    with torch.no_grad():
        module(x)  # the other net's turn
    assert not moved()
    module.requires_grad_(False)
    module(x.requires_grad_()).sum().backward()
    assert not moved()
    module.requires_grad_(True).eval()
    module(x)
    assert not moved()
    module.train()(x)
    assert moved()


def test_autocast_leaves_the_singular_value_alone():
    module = made("conv")
    expected = module.eval().normalized()
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(module.normalized(), expected)
        assert module(torch.randn(1, 6, 4, 4)).dtype == torch.bfloat16
