"""BigGAN-deep against what others published: parameters, positions, multiply-adds; and how its weights start."""

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import evonorm
from evonorm.cli.root import app
from evonorm.models import trace_model
from evonorm.models.gan.attention import SelfAttention
from evonorm.models.gan.conditional import ConditionalLayer
from evonorm.models.gan.discriminator import HalfSize
from evonorm.models.gan.spectral_norm import SpectralConv2d, SpectralEmbedding, SpectralLinear

# Released generators have 128 channels behind the last convolution, of which three are used: "50.4 M", "55.9 M" and
# "56.2 M" in pytorch-pretrained-BigGAN
RELEASED = {"128": 50_388_609, "256": 55_880_833, "512": 56_163_905}
CIFAR = {16: (650_979, 43_105), 32: (1_380_547, 166_081), 64: (3_079_299, 651_649), 96: (5_097_539, 1_456_705)}


def shapes_of(name, *settings, **named):
    with torch.device("meta"):
        return evonorm.create_model(name, *settings, **named)


def count(net):
    return sum(parameter.numel() for parameter in net.parameters())


def tiny(layer="bn-relu", **settings):
    return evonorm.create_model("biggan-deep-cifar", layer, width=1 / 8, groups=2, **settings)


def test_parameters_are_what_compare_gan_asserts():
    model = shapes_of("biggan-deep-128")
    assert (count(model.generator), count(model.discriminator)) == (50_244_484, 34_590_210)


@pytest.mark.parametrize("size", RELEASED)
def test_parameters_are_the_released_ones_without_the_unused_channels(size):
    unused_channels = (128 - 3) * (9 * 128 + 1)
    assert count(shapes_of(f"biggan-deep-{size}").generator) + unused_channels == RELEASED[size]


def test_an_evonorm_adds_v1_per_channel_of_each_position():
    model = shapes_of("biggan-deep-128", "evonorm-s0")
    assert count(model.generator) == 50_265_220
    positions = [each for each in model.generator.modules() if isinstance(each, ConditionalLayer)]
    assert len(positions) == 40
    assert sum(each.layer.channels for each in positions) == 20_608
    assert all(each.layer.weight is None and each.layer.bias is None for each in positions)
    assert model.generator.last_layer.weight.shape == (128,)
    assert not any(isinstance(each, evonorm.NormAct) for each in model.discriminator.modules())


@pytest.mark.parametrize(("channels", "counts"), CIFAR.items())
def test_parameters_at_32_pixels(channels, counts):
    model = shapes_of("biggan-deep-cifar", width=channels / 64)
    assert (count(model.generator), count(model.discriminator)) == counts


def test_multiply_adds_and_positions():
    trace = trace_model("biggan-deep-128")
    assert len(trace.layers) == 41
    assert round(trace.multiply_adds / 1e9, 2) == 18.17  # 8.96 and 9.21, analytic
    assert not any(step.behind_conv for step in trace.layers)  # a gain per sample folds into no convolution
    assert [step.channels for step in trace.layers][:5] == [2048, 512, 512, 512, 2048]
    assert [step.height for step in trace.layers][4:8] == [4, 4, 8, 8]  # doubled between the second and the third


def test_the_command_counts_and_draws():
    counted = CliRunner().invoke(app, ["cost", "biggan-deep-128", "--layer", "evonorm-b0"])
    assert "84,855,430" in counted.output
    drawn = CliRunner().invoke(app, ["cost", "biggan-deep-cifar", "--positions"])
    assert "G block 6   32x32  [256] 1x1>64 [64] up 3x3>64 [64] 3x3>64 [64] 1x1>256 +" in drawn.output
    other_size = CliRunner().invoke(app, ["cost", "biggan-deep-128", "--image-size", "64"])
    assert "makes pictures of 128x128 and no others, got image_size 64" in str(other_size.exception)


@pytest.mark.parametrize("layer", ["bn-relu", "x * sigmoid(v1 * x) / std_whcg(x)", "evonorm-b0", "pixelnorm-relu"])
def test_pictures_and_judgements(layer):
    model = tiny(layer)
    z, labels = torch.randn(5, 128), torch.arange(5)
    pictures = model.generator(z, labels)
    assert pictures.shape == (5, 3, 32, 32)
    assert pictures.abs().max() < 1
    assert model.discriminator(pictures, labels).shape == (5,)
    model(z, labels).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_every_class_and_every_latent_number_reach_every_block():
    model = tiny("evonorm-s0").eval()
    z, labels = torch.randn(2, 128), torch.tensor([3, 3])
    seen = []
    for block in model.generator.blocks:
        block.layer3.gain.register_forward_hook(lambda _, __, gain: seen.append(gain))
    for number in (0, 127):
        z[1] = z[0]
        z[1, number] += 1
        model.generator(z, labels)
    assert len(seen) == 12
    assert all((gain[0] - gain[1]).abs().max() > 1e-3 for gain in seen)
    conditions = []
    model.generator.stem.register_forward_pre_hook(lambda _, inputs: conditions.append(inputs[0]))
    model.generator(z, labels)
    assert torch.equal(conditions[0][:, :128], z)  # [z, class], as in the released graph
    assert torch.equal(conditions[0][:, 128:], model.generator.embedding(labels))


def test_what_carries_spectral_norm():
    model = evonorm.create_model("biggan-deep-cifar", width=1 / 8)
    plain = [
        name
        for name, module in model.named_modules()
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.Embedding))
        and not isinstance(module, (SpectralConv2d, SpectralLinear, SpectralEmbedding))
    ]
    assert plain == ["generator.embedding"]
    assert all(isinstance(each, SpectralConv2d) for each in SelfAttention(16).children())


def test_weights_start_orthogonal_and_biases_at_zero():
    model = tiny()
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.Embedding)):
            matrix = module.weight.flatten(1)
            square = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
            torch.testing.assert_close(square, torch.eye(len(square)), rtol=0, atol=1e-5)
            if getattr(module, "bias", None) is not None:
                assert not module.bias.any()


def test_attention_is_the_formula_and_starts_as_nothing():
    attention, x = SelfAttention(16).double().eval(), torch.randn(2, 16, 6, 4).double()
    assert torch.equal(attention(x), x)
    with torch.no_grad():
        attention.gamma.fill_(0.7)
    q, k, v, o = (each.normalized().flatten(1) for each in attention.children())
    pooled = [torch.nn.functional.max_pool2d(torch.einsum("oc,bchw->bohw", w, x), 2).flatten(2) for w in (k, v)]
    beta = torch.softmax(torch.einsum("oc,bcn->bon", q, x.flatten(2)).mT @ pooled[0], -1)  # no scale
    expected = x.flatten(2) + 0.7 * o @ (pooled[1] @ beta.mT)
    torch.testing.assert_close(attention(x).flatten(2), expected)


def test_layouts_agree():
    model = tiny("evonorm-b0").eval()
    z, labels = torch.randn(3, 128), torch.tensor([0, 1, 9])
    expected = model(z, labels)
    torch.testing.assert_close(model.to(memory_format=torch.channels_last)(z, labels), expected, rtol=1e-4, atol=1e-5)


def test_wrong_latents_are_told():
    with pytest.raises(ValueError, match=r"latent vectors \(batch, 128\) and as many labels"):
        tiny().generator(torch.randn(2, 64), torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="as many labels"):
        tiny().generator(torch.randn(2, 128), torch.zeros(3, dtype=torch.long))


def test_a_layer_that_takes_no_affine_of_a_call_is_told():
    with pytest.raises(TypeError, match=r"BatchNorm2d\.forward takes \(input\)"):
        evonorm.create_model("biggan-deep-cifar", lambda channels, nonlinearity=True: nn.BatchNorm2d(channels))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_half_size_is_average_pooling_with_its_gradients(layout):
    x = torch.randn(2, 3, 6, 4, dtype=torch.double).contiguous(memory_format=layout).requires_grad_()
    half = HalfSize()
    assert torch.equal(half(x), nn.functional.avg_pool2d(x, 2))
    assert torch.autograd.gradcheck(half, x)
    assert torch.autograd.gradgradcheck(half, x)
    assert half(x).is_contiguous(memory_format=layout)
