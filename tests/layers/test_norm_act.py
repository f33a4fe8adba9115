"""What a module promises beyond its formula: moving moments, dtypes, state, compile and export, errors."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import evonorm
from evonorm.graph import CATALOG
from evonorm.layers import NormAct, create_layer
from evonorm.layers.norm_act import moving_names

B_NAMES = ["evonorm-b0", "evonorm-b1", "evonorm-b2", "rs-rej", "b-top3"]


def data(*shape, scale=1.0, shift=0.0, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale + shift


@pytest.mark.parametrize("name", evonorm.layer_names())
class TestEveryLayer:
    def test_parameters_are_one_dimensional_of_size_channels(self, name):
        layer = evonorm.create_layer(name, 24)
        parameters = dict(layer.named_parameters())
        assert {"weight", "bias"} <= set(parameters) <= {"weight", "bias", "v0", "v1"}
        assert all(parameter.shape == (24,) for parameter in parameters.values())

    def test_keeps_shape_dtype_and_layout(self, name):
        x = data(2, 24, 6, 5).to(memory_format=torch.channels_last)
        y = evonorm.create_layer(name, 24)(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        assert y.is_contiguous(memory_format=torch.channels_last)

    def test_state_dict_deepcopy_and_pickle_round_trip(self, name):
        layer = evonorm.create_layer(name, 24)
        layer(data(4, 24, 6, 5, scale=3))
        other = evonorm.create_layer(name, 24)
        other.load_state_dict(layer.state_dict())
        x = data(4, 24, 6, 5, seed=1)
        for twin in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            torch.testing.assert_close(twin.eval()(x), layer.eval()(x), rtol=0, atol=0)

    def test_evaluation_of_a_sample_does_not_depend_on_the_batch(self, name):
        layer = evonorm.create_layer(name, 24).eval()
        x = data(4, 24, 6, 5)
        torch.testing.assert_close(layer(x)[:1], layer(x[:1]), rtol=1e-5, atol=1e-5)

    def test_half_precision_inputs_stay_half(self, name):
        x = data(4, 24, 6, 5).to(torch.bfloat16)
        y = evonorm.create_layer(name, 24)(x)
        assert y.dtype == torch.bfloat16
        assert y.isfinite().all()

    def test_an_empty_batch_gives_an_empty_result_in_evaluation(self, name):
        layer = evonorm.create_layer(name, 24).eval()
        assert layer(torch.empty(0, 24, 6, 5)).shape == (0, 24, 6, 5)


def test_moving_variance_is_biased_detached_and_starts_at_one():
    layer = evonorm.EvoNormB0(8)
    assert torch.equal(layer.running_var, torch.ones(8))
    x = data(4, 8, 3, 3, scale=2).requires_grad_()
    layer(x)
    expected = 0.9 + 0.1 * x.detach().var((0, 2, 3), correction=0)
    torch.testing.assert_close(layer.running_var, expected)
    assert not layer.running_var.requires_grad
    before = layer.running_var.clone()
    layer.eval()(x)
    assert torch.equal(layer.running_var, before)


def test_momentum_none_averages_all_batches():
    layer = NormAct("x / rms_bwh(x)", 4, momentum=None)
    batches = [data(3, 4, 2, seed=i, scale=i + 1) for i in range(5)]
    for batch in batches:
        layer(batch)
    squares = torch.stack([batch.square().mean((0, 2)) for batch in batches])
    torch.testing.assert_close(layer.running_square, squares.mean(0))
    layer.reset_running_stats()
    assert torch.equal(layer.running_square, torch.ones(4))
    assert layer.num_batches_tracked == 0


def test_an_empty_batch_leaves_the_moving_moments_alone():
    layer = evonorm.EvoNormB0(4)
    assert layer(torch.empty(0, 4, 3, 3)).shape == (0, 4, 3, 3)
    assert torch.equal(layer.running_var, torch.ones(4))


def test_each_batch_moment_has_its_own_buffer():
    graph = evonorm.Graph.parse("std_bwh(x) + std_bwh(x * x) + mean_bwh(x) + rms_bwh(x)")
    assert moving_names(graph) == ("running_var_1", "running_var_2", "running_mean", "running_square")
    layer = NormAct(graph, 3)
    layer(data(5, 3, 4))
    starts = {"running_mean": 0.0}
    assert all((buffer != starts.get(name, 1.0)).all() for name, buffer in layer.named_buffers())


@pytest.mark.parametrize("name", B_NAMES)
def test_moving_moments_survive_half_and_follow_double(name):
    layer = evonorm.create_layer(name, 8)
    layer(data(4, 8, 3, 3, scale=1.7))
    (exact,) = (buffer.clone() for buffer in layer.buffers())
    for convert in (nn.Module.half, nn.Module.bfloat16, lambda m: m.to(torch.float16)):
        (buffer,) = convert(copy.deepcopy(layer)).buffers()
        assert buffer.dtype == torch.float32
        assert torch.equal(buffer, exact)
    (buffer,) = layer.double().buffers()
    assert buffer.dtype == torch.float64


@pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-s0", "evonorm-b2"])
def test_the_autograd_graph_does_not_grow_over_steps(name):
    """The bug behind out-of-memory reports of other implementations: moving moments that are not detached."""
    layer = evonorm.create_layer(name, 8)

    def depth(function, seen):
        if function is None or function in seen:
            return 0
        seen.add(function)
        return 1 + sum(depth(each, seen) for each, _ in function.next_functions)

    sizes = [depth(layer(data(4, 8, 3, 3, seed=i)).grad_fn, set()) for i in range(4)]
    assert len(set(sizes)) == 1


@pytest.mark.parametrize(
    "name", ["evonorm-b0", "evonorm-b1", "evonorm-b2", "evonorm-s0", "evonorm-s1", "evonorm-s2", "frn"]
)
class TestWhereOtherImplementationsFail:
    def test_fp16_with_large_spread(self, name):
        x = data(4, 32, 6, 6, scale=300)
        layer = evonorm.create_layer(name, 32)
        half, full = layer(x.half()), layer(x.half().float())
        assert half.isfinite().all()
        torch.testing.assert_close(half.float(), full, rtol=2e-3, atol=2e-3)

    def test_mean_far_above_the_spread(self, name):
        x = data(4, 32, 6, 6, shift=5000)
        layer = evonorm.create_layer(name, 32)
        exact = copy.deepcopy(layer).double()(x.double()).float()
        torch.testing.assert_close(layer(x), exact, rtol=2e-3, atol=1e-3)  # fp32 itself holds 5000 to 5e-4

    @pytest.mark.parametrize("shape", [(4, 32, 1, 1), (1, 32, 1, 1), (1, 32)])
    def test_single_values(self, name, shape):
        x = data(*shape).requires_grad_()
        y = evonorm.create_layer(name, 32)(x)
        y.sum().backward()
        assert y.isfinite().all()
        assert x.grad.isfinite().all()

    def test_a_constant_channel(self, name):
        x = data(4, 32, 5, 5)
        x[:, 3] = 2.5
        x[:, 4] = 0.0
        x.requires_grad_()
        y = evonorm.create_layer(name, 32)(x)
        y.sum().backward()
        assert y.isfinite().all()
        assert x.grad.isfinite().all()

    @pytest.mark.parametrize("channels", [1, 3, 20, 33, 48])
    def test_channels_that_32_does_not_divide(self, name, channels):
        assert evonorm.create_layer(name, channels)(data(2, channels, 4, 4)).isfinite().all()


def test_groups_are_the_largest_divisor_and_shown():
    assert [evonorm.create_layer("evonorm-s0", c).groups for c in (64, 48, 20, 33, 7)] == [32, 24, 20, 11, 7]
    shown = repr(evonorm.create_layer("evonorm-s0", 48))
    assert shown == "EvoNormS0(x * sigmoid(v1 * x) / std_whcg(x), channels=48, groups=24, eps=1e-05)"


@pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-s0"])
@pytest.mark.parametrize("training", [True, False])
def test_torch_compile_in_one_graph(name, training):
    layer = evonorm.create_layer(name, 16).train(training)
    compiled = torch.compile(copy.deepcopy(layer), fullgraph=True, backend="aot_eager")
    x = data(2, 16, 4, 4)
    torch.testing.assert_close(compiled(x), layer(x))
    torch.testing.assert_close(list(compiled.buffers()), list(layer.buffers()))


def test_momentum_none_compiles_in_one_graph():
    layer = evonorm.EvoNormB0(4, momentum=None)
    compiled = torch.compile(copy.deepcopy(layer), fullgraph=True, backend="aot_eager")
    for seed in range(3):
        x = data(2, 4, 3, 3, seed=seed)
        torch.testing.assert_close(compiled(x), layer(x))
        torch.testing.assert_close(list(compiled.buffers()), list(layer.buffers()))


@pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-s0"])
def test_torch_export(name):
    layer = evonorm.create_layer(name, 16).eval()
    x = data(2, 16, 4, 4)
    exported = torch.export.export(layer, (x,))
    torch.testing.assert_close(exported.module()(x), layer(x))
    torch.export.save(exported, io.BytesIO())


def test_existing_batchnorm_and_groupnorm_checkpoints_load():
    batch_norm, group_norm = nn.BatchNorm2d(8), nn.GroupNorm(8, 8)
    batch_norm(data(4, 8, 3, 3, scale=2))
    for name, source in (("bn-relu", batch_norm), ("bn-silu", batch_norm), ("gn-silu", group_norm)):
        layer = evonorm.create_layer(name, 8)
        if "silu" in name:
            nn.init.constant_(layer.v1, 5.0)
        layer.load_state_dict(source.state_dict())
        x = data(2, 8, 3, 3)
        z = source.eval()(x)
        torch.testing.assert_close(layer.eval()(x), torch.relu(z) if name == "bn-relu" else z * torch.sigmoid(z))


def test_no_weight_decay_names_exactly_the_layer_parameters():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), evonorm.EvoNormS0(8), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 2)
    )
    assert evonorm.no_weight_decay(model) == {"1.weight", "1.bias", "1.v1", "3.weight", "3.bias"}
    assert evonorm.no_weight_decay(evonorm.EvoNormB1(4)) == {"weight", "bias"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: evonorm.create_layer("evonorm-b9", 8), "no layer 'evonorm-b9'. Did you mean evonorm-b"),
        (lambda: evonorm.create_layer("batchnorm", 8), "no layer 'batchnorm'.*Known names: bn-relu"),
        (lambda: evonorm.create_layer("x / std_bhw(x)", 8), "Did you mean 'std_bwh'"),
        (lambda: evonorm.create_layer("evonorm-b0", 0), "channels must be a whole number of at least 1, got 0"),
        (lambda: evonorm.create_layer("bn-relu", -3), "channels must be"),
        (lambda: evonorm.create_layer("gn-relu", 8, groups=0), "groups must be a whole number of at least 1, got 0"),
        (lambda: evonorm.EvoNormB0(8, eps=-1.0), "eps must not be negative"),
        (lambda: evonorm.EvoNormB0(8, momentum=2.0), "momentum must lie in 0 to 1"),
        (lambda: evonorm.create_layer("frn", 24)(data(2, 20, 4, 4)), "20 channels, the layer was made for 24"),
        (lambda: evonorm.create_layer("bn-relu", 24)(data(2, 20, 4, 4)), "Make it with channels=20"),
        (lambda: evonorm.create_layer("evonorm-s0", 24)(data(24)), "Add a batch axis"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types_are_told():
    with pytest.raises(TypeError, match="a name, formula text or a Graph, got int"):
        evonorm.create_layer(3, 8)
    with pytest.raises(TypeError, match="floating point input"):
        evonorm.EvoNormS0(8)(torch.ones(2, 8, dtype=torch.int64))


def test_parametrized_parameters_are_what_runs():
    class Doubled(nn.Module):
        def forward(self, weight):
            return 2 * weight

    layer, x = evonorm.EvoNormS0(8), data(2, 8, 3, 3)
    expected = 2 * layer(x)
    nn.utils.parametrize.register_parametrization(layer, "weight", Doubled())
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("name", [name for name, entry in CATALOG.items() if entry.affine_inside])
def test_a_baselines_formulas_are_what_its_module_computes(name):
    """Before gamma and beta have moved; PixelNorm's moment over c is a formula like the others."""
    x = torch.randn(4, 8, 3, 3, dtype=torch.float64)
    for formula, nonlinearity in ((CATALOG[name].formula, True), (CATALOG[name].normalization, False)):
        module = create_layer(name, 8, nonlinearity, groups=4).double()
        torch.testing.assert_close(module(x), NormAct(formula, 8, groups=4).double()(x))
