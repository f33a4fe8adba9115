"""Every kind of position: found, proven, replaced; what cannot be decided is left alone, and nothing is doubled."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import evonorm
from tests.conversion.tiny_models import AFFINE, CONVERTIBLE, LAYER, LEFT, TINY, Functional, Hidden, SharedWithASum

CURVED = "tanh(x + 1) * v1"  # twice is not once, and nothing like a ReLU: a doubled or lost activation shows


def made(cls):
    torch.manual_seed(0)
    model = cls()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def picture(batch=4):
    return torch.randn(batch, 3, 6, 6, generator=torch.Generator().manual_seed(1))


def outputs(model, x, training=False, call=None):
    torch.manual_seed(5)
    model.train(training)
    return (call or model)(x)


@pytest.mark.parametrize("cls", TINY, ids=lambda cls: cls.__name__)
class TestEveryKind:
    def test_positions_are_found_and_nothing_changes(self, cls):
        model = made(cls)
        before, code = copy.deepcopy(model.state_dict()), {type(each) for each in model.modules()}
        rows = evonorm.positions(model.train(), picture())
        found = {row.name: (row.activation, row.action) for row in rows}
        expected = {name: cls.found[name] for name in cls.found}
        assert {name: action for name, (_, action) in found.items()} == {n: a for n, (_, a) in expected.items()}
        for name, (activation, action) in expected.items():
            assert action == LEFT or found[name][0] == activation
        assert all(row.why for row in rows if row.action == LEFT)
        torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
        assert {type(each) for each in model.modules()} == code
        assert model.training

    def test_without_a_pair_there_is_nothing_to_convert(self, cls):
        if cls not in CONVERTIBLE:
            model = made(cls)
            expected = outputs(model, picture())
            with pytest.raises(ValueError, match="no normalization with an activation behind it"):
                evonorm.convert(model, CURVED, picture())
            torch.testing.assert_close(outputs(model, picture()), expected, rtol=0, atol=0)


@pytest.mark.parametrize("cls", CONVERTIBLE, ids=lambda cls: cls.__name__)
class TestEveryKindWithAPair:
    @pytest.mark.parametrize("training", [False, True])
    def test_the_forward_is_what_one_would_write(self, cls, training):
        model = made(cls)
        assert evonorm.convert(model, CURVED, picture()) is model
        for name, (_, action) in cls.found.items():
            layer = model.get_submodule(name)
            assert isinstance(layer, evonorm.NormAct) == (action != LEFT)
            assert action == LEFT or layer.nonlinearity == (action == LAYER)
        twin = copy.deepcopy(model)
        found = outputs(model, picture(), training)
        expected = outputs(twin, picture(), training, call=lambda x: type(model).converted(twin, x))
        torch.testing.assert_close(found, expected, rtol=0, atol=0)

    @pytest.mark.parametrize("training", [False, True])
    def test_the_same_function_leaves_outputs_and_weights(self, cls, training):
        model = made(cls)
        outputs(model, picture(), training=True)  # moments that are not where they started
        twin = copy.deepcopy(model)
        if {activation for activation, _ in cls.found.values()} - {"relu", ""}:
            pytest.skip("no layer of the catalog is the same function")
        evonorm.convert(model, "bn-relu", picture())
        torch.testing.assert_close(
            outputs(model, picture(), training), outputs(twin, picture(), training), rtol=0, atol=0
        )
        torch.testing.assert_close(model.state_dict(), twin.state_dict(), rtol=0, atol=0)

    def test_it_trains_copies_and_pickles(self, cls):
        model = made(cls)
        evonorm.convert(model, "evonorm-s0", picture())
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert isinstance(twin, cls)
            torch.testing.assert_close(outputs(twin, picture()), outputs(model, picture()), rtol=0, atol=0)
        found = outputs(model, picture(), training=True)
        found.square().sum().backward()
        for name, (_, action) in cls.found.items():
            if action in (LAYER, AFFINE):
                assert model.get_submodule(name).weight.grad.isfinite().all()

    def test_a_second_look_finds_our_layers(self, cls):
        model = made(cls)
        evonorm.convert(model, "evonorm-s0", picture())
        rows = {row.name: row for row in evonorm.positions(model, picture())}
        for name, (_, action) in cls.found.items():
            if action == LAYER:
                assert rows[name].why == "a layer of evonorm already"
        assert [row.name for row in model.evonorm_positions.with_action(LAYER)] == [
            name for name in rows if cls.found[name][1] == LAYER
        ]


def test_a_method_that_is_written_anew_keeps_its_arguments():
    model = evonorm.convert(made(Hidden), CURVED, picture())
    y = model.bn1(model.conv1(picture()))
    torch.testing.assert_close(model(picture(), power=1), model.conv2(y) * 2.0)
    assert type(model).forward.__kwdefaults__ == {"power": 1}
    assert isinstance(model, Hidden)
    assert type(model).__name__ == "Hidden"


def test_a_saved_module_comes_back():
    model, file = evonorm.convert(made(SharedWithASum), "evonorm-s0", picture()), io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    twin = torch.load(file, weights_only=False)
    torch.testing.assert_close(outputs(twin, picture()), outputs(model, picture()))


def test_compile_and_export_take_a_converted_model():
    model = evonorm.convert(made(SharedWithASum), "evonorm-s0", picture()).eval()
    expected = model(picture())
    torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=True)(picture()), expected)
    torch.testing.assert_close(torch.export.export(model, (picture(),)).module()(picture()), expected)


def test_converted_in_two_parts_is_converted_at_once():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8)
            self.conv2, self.bn2 = nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(x)))

    once, parts = made(Both), made(Both)
    evonorm.convert(once, CURVED, picture())
    evonorm.convert(evonorm.convert(parts, CURVED, picture(), only="bn2"), CURVED, picture(), only="bn1")
    torch.testing.assert_close(parts(picture()), once(picture()), rtol=0, atol=0)
    assert parts(picture()).min() < 0


def test_other_instances_of_a_class_stay_as_they_are():
    one, other = made(Functional), made(Functional)
    expected = outputs(other, picture())
    evonorm.convert(one, CURVED, picture())
    torch.testing.assert_close(outputs(other, picture()), expected, rtol=0, atol=0)
    assert type(other) is Functional
    assert type(one) is not Functional
