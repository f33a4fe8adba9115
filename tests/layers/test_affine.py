"""`layer(x, weight=..., bias=...)`: gamma and beta of one call, (C,) or per sample (B, C), for every named layer."""

import pytest
import torch

import evonorm
from evonorm.layers import NormAct

LAYERS = [*evonorm.layer_names(), "x * tanh(v0 + x) / rms_bwh(x)"]


def made(name, nonlinearity=True):
    """A layer whose own gamma and beta are not 1 and 0, and an input."""
    draw = torch.Generator().manual_seed(4)
    layer = evonorm.create_layer(name, 8, nonlinearity)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn(8, generator=draw))
    return layer, torch.randn(5, 8, 4, 3, generator=draw), *torch.randn(2, 5, 8, generator=draw)


def sample_by_sample(layer, x, weight, bias):
    """What a layer gives in evaluation if every sample comes with its own gamma and beta as parameters."""
    rows = []
    for sample in range(len(x)):
        with torch.no_grad():
            layer.weight.copy_(weight[sample])
            layer.bias.copy_(bias[sample])
        rows.append(layer(x[sample : sample + 1]))
    return torch.cat(rows)


@pytest.mark.parametrize("nonlinearity", [True, False])
@pytest.mark.parametrize("name", LAYERS)
class TestEveryLayer:
    def test_per_sample_is_each_sample_with_its_own(self, name, nonlinearity):
        layer, x, weight, bias = made(name, nonlinearity)
        layer(x)  # moving moments that are not where they started
        layer.eval()
        found = layer(x, weight=weight, bias=bias)
        torch.testing.assert_close(found, sample_by_sample(layer, x, weight, bias), rtol=1e-4, atol=1e-5)

    def test_in_training_equal_rows_are_that_affine(self, name, nonlinearity):
        layer, x, weight, bias = made(name, nonlinearity)
        twin, *_ = made(name, nonlinearity)
        with torch.no_grad():
            twin.weight.copy_(weight[0])
            twin.bias.copy_(bias[0])
        expected = twin(x)
        torch.testing.assert_close(layer(x, weight[0], bias[0]), expected, rtol=1e-5, atol=1e-5)
        twin(x)
        found = layer(x, weight[:1].expand(5, -1), bias[:1].expand(5, -1))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(list(layer.buffers()), list(twin.buffers()))  # moved twice, as the twin's

    def test_one_of_the_two_leaves_the_other_its_own(self, name, nonlinearity):
        layer, x, weight, bias = made(name, nonlinearity)
        own = layer.weight.detach().expand(5, -1), layer.bias.detach().expand(5, -1)
        torch.testing.assert_close(layer(x, weight=weight), layer(x, weight, own[1]), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(layer(x, bias=bias), layer(x, own[0], bias), rtol=1e-5, atol=1e-5)

    def test_gradients_reach_what_was_given(self, name, nonlinearity):
        layer, x, weight, bias = made(name, nonlinearity)
        weight.requires_grad_(), bias.requires_grad_(), x.requires_grad_()
        exact, (given, shift, wide) = (
            made(name, nonlinearity)[0].double(),
            (each.detach().double().requires_grad_() for each in (weight, bias, x)),
        )
        layer(x, weight, bias).square().sum().backward()
        exact(wide, given, shift).square().sum().backward()
        for a, b in ((weight, given), (bias, shift), (x, wide)):
            assert a.grad.shape == a.shape
            torch.testing.assert_close(a.grad.double(), b.grad, rtol=2e-4, atol=2e-4)
        assert layer.weight.grad is None or not layer.weight.grad.any()

    def test_wrong_shapes_are_told(self, name, nonlinearity):
        layer, x, weight, bias = made(name, nonlinearity)
        with pytest.raises(ValueError, match=r"weight has shape \(4, 8\). It must be \(8,\), or \(5, 8\) per sample"):
            layer(x, weight=weight[:4])
        with pytest.raises(ValueError, match=r"bias has shape \(5, 7\)"):
            layer(x, bias=bias[:, :7])


def test_the_affine_of_baselines_is_between_normalization_and_activation():
    x, weight, bias = made("bn-relu")[1:]
    for name in ("bn-relu", "gn-relu", "ln-relu", "pixelnorm-relu"):
        y = evonorm.create_layer(name, 8)(x, -weight.abs(), bias)
        z = evonorm.create_layer(name, 8, nonlinearity=False)(x)
        expected = torch.relu(z * -weight.abs()[..., None, None] + bias[..., None, None])
        torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-5)


def test_batch_norm_with_a_cumulative_average_moves_as_torchs():
    layer, twin = (evonorm.create_layer("bn-relu", 8, momentum=None) for _ in range(2))
    for seed in range(3):
        x = torch.randn(4, 8, 3, 3, generator=torch.Generator().manual_seed(seed))
        layer(x, torch.ones(4, 8))
        twin(x)
    torch.testing.assert_close(list(layer.buffers()), list(twin.buffers()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_inputs_take_affines_of_any_dtype(dtype):
    layer, x, weight, bias = made("evonorm-s0")
    exact = layer(x.to(dtype).float(), weight.to(dtype).float(), bias)
    found = layer(x.to(dtype), weight.to(dtype), bias)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), exact, rtol=1e-2, atol=1e-2)
    assert isinstance(layer, NormAct)
