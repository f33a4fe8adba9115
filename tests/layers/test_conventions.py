"""What code around a layer expects of it: torch's names, devices and tools. One contract for every named layer."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx.experimental.optimization import fuse
from torch.nn.utils.fusion import fuse_conv_bn_eval

import evonorm
from evonorm.layers import FilterResponseNorm, GroupNormAct, PixelNormReLU

CLASSES = [evonorm.EvoNormB0, evonorm.EvoNormS0, FilterResponseNorm, PixelNormReLU]
CLASSES += [lambda channels, **rest: GroupNormAct(channels, 4, **rest)]
CLASSES += [lambda channels, **rest: evonorm.NormAct("x / rms_bwh(x)", channels, momentum=None, **rest)]
TORCHS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm)

deprecated_inside_torch = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:FutureWarning")


def made(name, **settings):
    layer = evonorm.create_layer(name, 8, **settings)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=draw))
    return layer, torch.randn(4, 8, 5, 5, generator=draw)


@pytest.mark.parametrize("name", evonorm.layer_names())
class TestEveryLayer:
    def test_is_none_of_torchs_classes(self, name):
        assert not isinstance(evonorm.create_layer(name, 8), TORCHS)

    def test_names_that_other_code_reads(self, name):
        layer = evonorm.create_layer(name, np.int64(8))
        assert layer.num_features == layer.channels == 8
        assert type(layer.channels) is int
        assert layer.affine

    def test_device_and_dtype(self, name):
        layer = evonorm.create_layer(name, 8, device="meta", dtype=torch.bfloat16)
        assert {each.device.type for each in (*layer.parameters(), *layer.buffers())} == {"meta"}
        assert {each.dtype for each in layer.parameters()} == {torch.bfloat16}

    def test_reset_parameters_is_a_new_layer(self, name):
        layer, x = made(name)
        layer(x)
        with torch.no_grad():
            for each in (*layer.parameters(), *layer.buffers()):
                each.fill_(77)
        layer.reset_parameters()
        new = evonorm.create_layer(name, 8)
        for (key, found), expected in zip(layer.state_dict().items(), new.state_dict().values(), strict=True):
            assert torch.equal(found, expected), key

    def test_from_meta_by_to_empty(self, name):
        with torch.device("meta"):
            layer = evonorm.create_layer(name, 8)
        layer.to_empty(device="cpu").reset_parameters()
        x = made(name)[1]
        torch.testing.assert_close(layer(x), evonorm.create_layer(name, 8)(x))

    def test_fx_sees_one_module(self, name):
        layer, x = made(name)
        traced = torch.fx.symbolic_trace(nn.Sequential(layer, nn.Flatten()))
        assert [node.target for node in traced.graph.nodes if node.op == "call_module"] == ["0", "1"]
        torch.testing.assert_close(traced(x), copy.deepcopy(layer)(x).flatten(1))

    @deprecated_inside_torch
    def test_forward_mode_is_the_transpose_of_backward(self, name):
        layer, x = made(name)
        x, direction = x.requires_grad_(), x.detach().flip(0, 3)
        with torch.autograd.forward_ad.dual_level():
            y = layer(torch.autograd.forward_ad.make_dual(x, direction))
            tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
        (gradient,) = torch.autograd.grad(layer(x), x, tangent.detach())
        torch.testing.assert_close(tangent.square().sum(), (gradient * direction).sum(), rtol=1e-4, atol=1e-4)

    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
    def test_what_is_no_dense_tensor_is_told(self, name):
        layer, x = made(name)
        for other in (torch.nested.nested_tensor([x[0], x[1]]), x.to_mkldnn(), x.to_sparse()):
            with pytest.raises(TypeError, match="expected a dense tensor, got"):
                layer(other)

    def test_sync_and_fold_by_torch_leave_it_alone(self, name):
        layer, x = made(name)
        model = nn.Sequential(nn.Conv2d(8, 8, 1), layer).eval()
        twin = copy.deepcopy(model)
        assert torch.equal(nn.SyncBatchNorm.convert_sync_batchnorm(model)(x), twin(x))
        fused = fuse(model)
        torch.testing.assert_close(fused(x), twin(x))


@pytest.mark.parametrize("name", ["bn-relu", "bn-silu"])
def test_folding_by_hand_is_an_error_and_never_loses_the_activation(name):
    with pytest.raises(AttributeError, match="no attribute 'eps'"):
        fuse_conv_bn_eval(nn.Conv2d(8, 8, 1).eval(), evonorm.create_layer(name, 8).eval())


@pytest.mark.parametrize("make", CLASSES)
def test_classes_take_device_and_dtype(make):
    layer = make(8, device="meta", dtype=torch.float64)
    assert {(each.device.type, each.dtype) for each in layer.parameters()} == {("meta", torch.float64)}


@pytest.mark.parametrize("make", [evonorm.EvoNormB0, evonorm.EvoNormS0, FilterResponseNorm])
def test_skip_init(make):
    layer = nn.utils.skip_init(make, 8)
    layer.reset_parameters()
    torch.testing.assert_close(layer.state_dict(), make(8).state_dict())


@pytest.mark.parametrize("bad", [True, 2.0, "8", None, np.float32(8)])
def test_channels_that_are_no_whole_number_are_told(bad):
    with pytest.raises(ValueError, match="channels must be a whole number"):
        evonorm.EvoNormS0(bad)


def test_old_and_frozen_batchnorms_load_without_a_count():
    state = nn.BatchNorm2d(8).state_dict()
    del state["num_batches_tracked"]
    evonorm.create_layer("bn-relu", 8).load_state_dict(state)


@pytest.mark.parametrize("name", ["evonorm-b0", "x / rms_bwh(x) + mean_bwh(x)"])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_per_sample_gradients_in_training_leave_captured_moments_alone(name, momentum):
    layer = evonorm.create_layer(name, 8, momentum=momentum)
    x = made("evonorm-s0")[1]
    before = copy.deepcopy(layer.state_dict())

    def loss(weight, sample):
        return torch.func.functional_call(layer, {"weight": weight}, (sample[None],)).square().sum()

    found = torch.func.vmap(torch.func.grad(loss), (None, 0))(layer.weight.detach(), x)
    for i in range(len(x)):
        twin = evonorm.create_layer(name, 8)
        twin(x[i : i + 1]).square().sum().backward()
        torch.testing.assert_close(found[i], twin.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.state_dict(), before)


def test_moments_that_are_given_to_a_transform_move():
    layer, x = made("evonorm-b0")
    parameters, buffers = dict(layer.named_parameters()), {k: v.clone() for k, v in layer.named_buffers()}

    def loss(parameters, buffers):
        y = torch.func.functional_call(layer, (parameters, buffers), (x,))
        return y.sum(), buffers

    _, moved = torch.func.grad(loss, has_aux=True)(parameters, buffers)
    torch.testing.assert_close(moved["running_var"], 0.9 + 0.1 * x.var((0, 2, 3), correction=0))
    assert torch.equal(layer.running_var, torch.ones(8))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_profiler_sees_the_layer(mode):
    layer, x = made("evonorm-s0")
    with mode(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        layer(x)
    assert any(event.key.startswith(("evonorm::", "aten::sigmoid")) for event in profile.key_averages())


class TestLazy:
    @pytest.mark.parametrize("name", ["evonorm-b0", "evonorm-s0", "x / rms_bwh(x) + v0"])
    def test_the_first_input_tells_the_channels(self, name):
        model, x = nn.Sequential(nn.LazyConv2d(48, 1), evonorm.LazyNormAct(name)), torch.randn(3, 5, 4, 4)
        y = model(x)
        layer = model[1]
        assert type(layer) is evonorm.NormAct
        assert (layer.channels, layer.groups) == (48, 24)
        twin = evonorm.create_layer(name, 48)
        torch.testing.assert_close(y, twin(model[0](x)))
        torch.testing.assert_close(layer.state_dict(), twin.state_dict())

    def test_a_checkpoint_may_come_first(self):
        trained, x = evonorm.EvoNormB0(20), torch.randn(4, 20, 3, 3)
        trained(x)
        layer = evonorm.LazyNormAct("evonorm-b0")
        layer.load_state_dict(trained.state_dict())
        torch.testing.assert_close(layer.eval()(x), trained.eval()(x))
        assert layer.groups == 20
