"""The choices of `convert` and `positions`, what new layers take over, the self-check, and mistakes."""

import copy
import dataclasses
import json

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import evonorm
from evonorm.conversion import SurgeryError, converter
from evonorm.conversion.check import check_surgery
from evonorm.conversion.decide import TakeModule
from evonorm.layers import BatchNormAct, GroupNormAct
from tests.conversion.tiny_models import BehindAPool, OwnModule, SharedWithASum, UsedTwice


def block(norm, activation, channels=8):
    return nn.Sequential(nn.Conv2d(channels, channels, 1), norm, activation)


def moved(model, steps=3):
    """A model whose parameters and moving moments are not at their first values."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.train()
    for step in range(steps):
        model(picture() * (step + 1))
    return model.eval()


def picture(channels=8):
    return torch.randn(4, channels, 5, 5, generator=torch.Generator().manual_seed(2))


SAME = {
    "bn-relu": (lambda: nn.BatchNorm2d(8, eps=1e-3, momentum=0.03), nn.ReLU),
    "bn-silu": (lambda: nn.BatchNorm2d(8, momentum=None), nn.SiLU),
    "gn-relu": (lambda: nn.GroupNorm(4, 8, eps=1e-3), nn.ReLU),
    "gn-silu": (lambda: nn.GroupNorm(2, 8), nn.SiLU),
    "bn-relu, without affine": (lambda: nn.BatchNorm2d(8, affine=False), nn.ReLU),
    "bn-relu, without activation": (lambda: nn.BatchNorm2d(8, eps=1e-2), nn.Identity),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_function_stays_and_goes_on_alike(name):
    norm, activation = SAME[name]
    model = moved(nn.Sequential(block(norm(), activation()), block(nn.BatchNorm2d(8), nn.ReLU())))
    layer = name.split(",")[0]
    twin = copy.deepcopy(model)
    evonorm.convert(model, layer, picture(), only="*" if name.endswith("without activation") else "0")
    assert isinstance(model[0][1], GroupNormAct if layer.startswith("gn") else BatchNormAct)
    x = picture()
    torch.testing.assert_close(model(x), twin(x), rtol=1e-5, atol=1e-5)
    model.train(), twin.train()
    for _ in range(2):
        torch.testing.assert_close(model(x), twin(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(list(model[0][1].buffers()), list(twin[0][1].buffers()))


def test_parameters_and_the_order_of_the_rest_are_kept():
    model = moved(SharedWithASumOf8())
    others = {k: v.clone() for k, v in model.state_dict().items() if not k.startswith("bn")}
    evonorm.convert(model, "evonorm-b0", picture())
    state = model.state_dict()
    for key, value in others.items():
        assert torch.equal(state[key], value)
    assert state["bn1.weight"].eq(1).all()
    assert state["bn1.bias"].eq(0).all()


class SharedWithASumOf8(SharedWithASum):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 1)


@pytest.mark.parametrize("norm", [lambda: nn.BatchNorm2d(8, eps=1e-2), lambda: nn.BatchNorm2d(8, affine=False)])
def test_an_affine_has_the_moving_moments_folded_in(norm):
    model = moved(nn.Sequential(block(nn.BatchNorm2d(8), nn.ReLU()), nn.Conv2d(8, 8, 1), norm()))
    x = model[:2](picture())
    expected = model[2](x)
    evonorm.convert(model, "evonorm-s0", picture())
    assert not model[2].nonlinearity
    torch.testing.assert_close(model[2](x), expected, rtol=1e-4, atol=1e-5)
    assert all(parameter.requires_grad for parameter in model[2].parameters())


def test_without_activation_can_be_kept():
    model = SharedWithASum()
    evonorm.convert(model, "evonorm-s0", picture(3), without_activation="keep")
    assert type(model.bn2) is nn.BatchNorm2d
    assert isinstance(model.bn1, evonorm.EvoNormS0)
    assert [row.action for row in model.evonorm_positions] == ["layer", "keep"]


def test_only_a_part_by_name_or_pattern():
    def make():
        return nn.Sequential(*(block(nn.BatchNorm2d(8), nn.ReLU()) for _ in range(3)))

    for only, expected in (("1", [1]), (["0", "2.1"], [0, 2]), ("[12]*", [1, 2]), ("*", [0, 1, 2]), ("*.1", [0, 1, 2])):
        model = evonorm.convert(make(), "evonorm-s0", picture(), only=only)
        assert [i for i in range(3) if isinstance(model[i][1], evonorm.EvoNormS0)] == expected, only
    rows = evonorm.positions(make(), picture(), only="1")
    assert [row.action for row in rows] == ["keep", "layer", "keep"]
    assert rows[0].why == "not among the parts asked for"


def test_which_activations_count():
    class Swish(nn.Module):
        def forward(self, x):
            return x * torch.sigmoid(x)

    model = nn.Sequential(block(nn.BatchNorm2d(8), nn.SiLU()), block(nn.BatchNorm2d(8), Swish()))
    rows = evonorm.positions(model, picture(), activations=("relu", "silu"))
    assert [(row.activation, row.action) for row in rows] == [("silu", "layer"), ("", "leave alone")]
    assert rows[1].why.startswith("mul, sigmoid behind it") or rows[1].why.startswith("sigmoid behind it")
    rows = evonorm.positions(model, picture(), activations=("relu",))
    assert [row.action for row in rows] == ["leave alone", "leave alone"]
    assert rows[0].why.startswith("silu behind it: no activation that counts")
    evonorm.convert(model, "evonorm-s0", picture(), activations=("silu", Swish))
    assert isinstance(model[1][2], nn.Identity)
    assert model[1][1].nonlinearity


def test_a_function_may_make_the_layer():
    made = []

    def layer(channels, nonlinearity):
        made.append((channels, nonlinearity))
        return evonorm.create_layer("evonorm-s0", channels, nonlinearity, groups=1)

    model = evonorm.convert(SharedWithASum(), layer, picture(3))
    assert made == [(8, True), (8, False)]
    assert model.bn1.groups == 1


def test_a_formula_a_graph_and_groups():
    formula = "x * sigmoid(x) / rms_whcg(x)"
    for layer in (formula, evonorm.Graph.parse(formula)):
        model = evonorm.convert(SharedWithASum(), layer, picture(3), groups=4)
        assert str(model.bn1.graph) == formula
        assert model.bn1.groups == 4
    model = nn.Sequential(block(nn.GroupNorm(2, 8), nn.ReLU()))
    assert evonorm.convert(model, "evonorm-s0", picture())[0][1].groups == 2


def test_device_dtype_and_mode_are_those_of_the_old_one():
    model = block(nn.BatchNorm2d(8), nn.ReLU()).double()
    model[1].eval()
    evonorm.convert(model, "evonorm-b0", picture().double())
    assert model[1].weight.dtype == model[1].running_var.dtype == torch.float64
    assert not model[1].training
    assert model.training


def test_frozen_batch_norms_stay_frozen():
    misc = pytest.importorskip("torchvision.ops.misc")
    model = moved(block(misc.FrozenBatchNorm2d(8), nn.ReLU()))
    model[1].running_mean.copy_(torch.linspace(-1, 1, 8)), model[1].running_var.mul_(3)
    expected = model(picture())
    evonorm.convert(model, "bn-relu", picture())
    for training in (False, True):
        torch.testing.assert_close(model.train(training)(picture()), expected, rtol=1e-5, atol=1e-5)
    assert not any(parameter.requires_grad for parameter in model[1].parameters())


class TestExamples:
    def test_without_one_usual_shapes_are_tried(self):
        model = nn.Sequential(nn.Conv2d(5, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        model.append(nn.Linear(8 * 13 * 13, 2))  # takes 28 x 28 only
        assert evonorm.positions(model)[0].activation == "relu"
        assert evonorm.positions(nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU()))[0].activation == "relu"

    def test_none_that_fits_asks_for_one(self):
        model = nn.Sequential(nn.Conv2d(5, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(7, 2))
        with pytest.raises(ValueError, match=r"no input that was tried runs through the model.*Give `example=`"):
            evonorm.convert(model)
        with pytest.raises(ValueError, match="no convolution and no linear layer"):
            evonorm.positions(nn.Sequential(nn.BatchNorm2d(8), nn.ReLU()))

    def test_several_arguments_and_arguments_by_name(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.bn = nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8)

            def forward(self, a, b=None):
                return F.relu(self.bn(self.conv(a + b)))

        x = picture(3)
        for example in ((x, x), [x, x], {"a": x, "b": x}):
            assert evonorm.positions(Two(), example)[0].action == "layer"

    def test_an_example_that_works_in_evaluation_only_is_remarked(self):
        rows = evonorm.positions(
            nn.Sequential(nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.ReLU()), torch.randn(1, 3, 1, 1)
        )
        assert rows[0].action == "layer"
        assert "Seen in evaluation only" in rows.remarks[0]
        assert "Seen in evaluation only" in str(rows)

    def test_neither_moments_nor_random_numbers_move(self):
        model = nn.Sequential(block(nn.BatchNorm2d(8), nn.ReLU()), nn.Dropout(0.5))
        before, state = copy.deepcopy(model.state_dict()), torch.random.get_rng_state()
        evonorm.positions(model, picture())
        torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
        assert torch.equal(torch.random.get_rng_state(), state)


class TestSelfCheck:
    def looked(self, model):
        return converter._look(model, picture(3), converter._Choices(evonorm.conversion.ACTIVATIONS, "*", "affine"))

    def test_a_wrong_surgery_is_caught_with_its_position(self):
        """As if the look had taken the wrong activation: the one of another place."""

        class Four(nn.Module):
            def __init__(self):
                super().__init__()
                self.convs = nn.ModuleList([nn.Conv2d(3 if i == 0 else 8, 8, 1) for i in range(4)])
                self.norms = nn.ModuleList([nn.BatchNorm2d(8) for _ in range(4)])
                self.relus = nn.ModuleList([nn.ReLU() for _ in range(4)])
                self.last = nn.Sequential(nn.Conv2d(8, 8, 1), nn.ReLU())

            def forward(self, x):
                for conv, norm, relu in zip(self.convs, self.norms, self.relus, strict=True):
                    x = relu(norm(conv(x)))
                return self.last(x)

        model = Four()
        look = self.looked(model)
        check_surgery(model, look.decisions, look.example, look.outputs)
        wrong = list(look.decisions)
        wrong[2] = dataclasses.replace(wrong[2], takings=(TakeModule("last.1"),))
        before = copy.deepcopy(model)
        with pytest.raises(SurgeryError, match=r"failed at norms\.2 \(BatchNorm2d\(8\), relu: module relus\.2\)"):
            check_surgery(model, wrong, look.example, look.outputs)
        assert repr(model) == repr(before)
        torch.testing.assert_close(model.state_dict(), before.state_dict(), rtol=0, atol=0)

    def test_convert_refuses_and_leaves_the_model(self, monkeypatch):
        model = SharedWithASum()
        real = converter.decide

        def wrong(*arguments):
            first, *rest = real(*arguments)
            return [dataclasses.replace(first, takings=(TakeModule("relu"),)), *rest]

        monkeypatch.setattr(converter, "decide", wrong)
        before = repr(model)
        with pytest.raises(SurgeryError, match="failed at bn1"):
            evonorm.convert(model, "evonorm-s0", picture(3))
        assert repr(model) == before
        assert type(model) is SharedWithASum

    def test_a_model_that_is_noisy_by_itself_passes(self):
        runs = iter(range(100))

        class Noisy(OwnModule):
            def forward(self, x):
                return self.conv2(self.relu(self.bn1(self.conv1(x)))) + 1e-4 * (next(runs) % 3)

        assert isinstance(evonorm.convert(Noisy(), "evonorm-s0", picture(3)).bn1, evonorm.EvoNormS0)


class TestTable:
    def test_prints_aligned_and_as_html(self):
        rows = evonorm.positions(SharedWithASum(), picture(3))
        lines = str(rows).splitlines()
        assert lines[0].split() == ["name", "normalization", "activation", "found", "becomes"]
        assert lines[2].split("  ")[0] == "bn1"
        start = lines[0].index("becomes")
        assert [line[start:] for line in lines[2:4]] == ["layer", "layer without activation"]
        assert lines[4] == "2 normalizations: 1 x layer, 1 x layer without activation"
        html = rows._repr_html_()
        assert html.count("<tr>") == 3
        assert "relu after a sum" in html
        assert json.loads(json.dumps(rows.as_dicts()))[0]["name"] == "bn1"

    def test_says_why(self):
        for cls, words in (
            (UsedTwice, "its output is used 2 times: relu, add"),
            (BehindAPool, "relu comes only behind max_pool2d"),
        ):
            (row,) = evonorm.positions(cls(), picture(3))
            assert row.why == words
            assert words in str(evonorm.positions(cls(), picture(3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: evonorm.convert(m, "evonorm-s9", x), "no layer 'evonorm-s9'"),
        (lambda m, x: evonorm.positions(m, x, without_activation="drop"), "must be 'affine' or 'keep', got 'drop'"),
        (lambda m, x: evonorm.positions(m, x, activations=("sigmoid",)), "activations are names of relu, relu6"),
        (lambda m, x: evonorm.convert(m, "evonorm-s0", x, only="nowhere"), "could be converted. Nothing was changed"),
        (lambda m, x: evonorm.convert(torch.compile(m), "evonorm-s0", x), "Convert it first, then compile it"),
    ],
)
def test_mistakes_are_told_and_change_nothing(call, message):
    model = OwnModule()
    before = repr(model)
    with pytest.raises(ValueError, match=message):
        call(model, picture(3))
    assert repr(model) == before


def test_a_batch_norm_without_moving_moments_is_told():
    model = block(nn.BatchNorm2d(8, track_running_stats=False), nn.ReLU())
    with pytest.raises(ValueError, match="keeps no moving moments"):
        evonorm.convert(model, "bn-relu", picture())
    assert type(model[1]) is nn.BatchNorm2d
    assert isinstance(evonorm.convert(model, "evonorm-s0", picture())[1], evonorm.EvoNormS0)
