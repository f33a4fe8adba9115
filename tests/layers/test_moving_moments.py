"""`update_moments` and `freeze_moments`: what torch's tools do for BatchNorm, for every layer with moving moments."""

import copy
import pickle

import pytest
import torch
from torch import nn

import evonorm


def model_of(*names):
    torch.manual_seed(0)
    parts = [evonorm.create_layer(name, 6) if name != "torch" else nn.BatchNorm2d(6) for name in names]
    return nn.Sequential(nn.Conv2d(3, 6, 1), *parts)


def batches(count=4):
    draw = torch.Generator().manual_seed(3)
    return [torch.randn(5, 3, 4, 4, generator=draw) * (i + 1) for i in range(count)]


@pytest.mark.parametrize("name", ["evonorm-b0", "bn-relu", "torch", "x / rms_bwh(x)"])
def test_moments_become_the_average_over_the_batches(name):
    model = model_of(name).eval()
    evonorm.update_moments(model, [(each, torch.zeros(5)) for each in batches()])
    inside = [model[0](each).detach() for each in batches()]
    correction = 0 if name.startswith("evonorm") else 1
    if name.startswith("x"):
        expected = {"running_square": torch.stack([z.square().mean((0, 2, 3)) for z in inside]).mean(0)}
    else:
        expected = {"running_var": torch.stack([z.var((0, 2, 3), correction=correction) for z in inside]).mean(0)}
    for key, value in expected.items():
        torch.testing.assert_close(getattr(model[1], key), value)
    assert not model.training
    assert not model[1].training
    assert model[1].momentum == 0.1


def test_torchs_own_tool_passes_b_layers_by():
    """Why ours exists; if this ever fails, torch has learnt it."""
    model = model_of("evonorm-b0")
    torch.optim.swa_utils.update_bn(batches(), model)
    assert torch.equal(model[1].running_var, torch.ones(6))


def test_batches_may_be_arguments_by_name():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = evonorm.EvoNormB0(6)

        def forward(self, pixels):
            return self.layer(pixels)

    model = evonorm.update_moments(Named(), [{"pixels": torch.randn(4, 6, 3, 3)}])
    assert not torch.equal(model.layer.running_var, torch.ones(6))


def test_no_batch_is_told_and_changes_nothing():
    model = model_of("bn-relu")
    model(batches()[0])
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match="got no batch"):
        evonorm.update_moments(model, [])
    torch.testing.assert_close(model.state_dict(), before)


@pytest.mark.parametrize("name", ["evonorm-b0", "bn-relu", "torch"])
def test_frozen_layers_stay_through_train_copies_and_pickles(name):
    model = model_of(name)
    model(batches()[0])
    expected, x = copy.deepcopy(model).eval(), batches()[2]
    evonorm.freeze_moments(model)
    for frozen in (model.train(), copy.deepcopy(model).train(), pickle.loads(pickle.dumps(model)).train()):
        before = copy.deepcopy(frozen.state_dict())
        y = frozen(x)
        torch.testing.assert_close(y, expected(x))
        y.sum().backward()
        assert frozen[0].weight.grad.abs().sum() > 0
        torch.testing.assert_close(frozen.state_dict(), before)
    evonorm.update_moments(model, batches())
    torch.testing.assert_close(model.state_dict(), expected.state_dict())


def test_frozen_layers_can_be_let_go():
    model = evonorm.freeze_moments(evonorm.freeze_moments(model_of("evonorm-b0", "torch")))
    evonorm.freeze_moments(model.train(), frozen=False)
    before = model[1].running_var.clone()
    model(batches()[1])
    assert (model[1].running_var != before).all()
    assert not model[1]._forward_pre_hooks
