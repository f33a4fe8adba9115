"""Models by name: what `layer` accepts, and what is said about bad input."""

import pytest
import torch
from torch import nn

import evonorm
from evonorm.models.create import MODELS

FORMULA = "x * sigmoid(v1 * x) / std_whcg(x)"
IMAGES = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))


def logits(layer, **settings):
    torch.manual_seed(0)
    return evonorm.create_model("mobilenet-nano", layer, **settings).eval()(IMAGES)


def test_a_name_a_formula_a_graph_and_a_callable_are_the_same():
    def make(channels, nonlinearity=True):
        return evonorm.EvoNormS0(channels, nonlinearity, groups=4)

    expected = logits("evonorm-s0")
    for layer in (FORMULA, evonorm.Graph.parse(FORMULA), make):
        assert logits(layer).equal(expected)


def test_positions_without_activation_get_no_nonlinearity():
    asked = []

    def record(channels, nonlinearity=True):
        asked.append((channels, nonlinearity))
        return nn.Identity()

    model = evonorm.create_model("efficientnet-nano", record)
    linear = [channels for channels, nonlinearity in asked if not nonlinearity]
    assert linear == [block.project.out_channels for block in model.blocks]
    asked.clear()
    evonorm.create_model("resnet-nano", record)
    assert all(nonlinearity for _, nonlinearity in asked)


def test_groups_reach_the_layers():
    model = evonorm.create_model("resnet-nano", "evonorm-s0", groups=2)
    assert {m.groups for m in model.modules() if isinstance(m, evonorm.NormAct)} == {2}
    model = evonorm.create_model("resnet50-cifar", "evonorm-s0")
    assert max(m.groups for m in model.modules() if isinstance(m, evonorm.NormAct)) == 32


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry.kind == "classifier"])
def test_classes_width_and_image_size(name):
    with torch.device("meta"):
        model = evonorm.create_model(name, num_classes=7, width=0.5).eval()
        wide = evonorm.create_model(name, num_classes=7)
        assert model(torch.empty(2, 3, 64, 96)).shape == (2, 7)
    count = sum(p.numel() for p in model.parameters())
    assert count < 0.75 * sum(p.numel() for p in wide.parameters())


def test_the_same_seed_gives_the_same_weights():
    assert logits("bn-relu").equal(logits("bn-relu"))


def test_a_misspelt_model_lists_the_closest():
    with pytest.raises(ValueError, match=r"no model 'resnet-50-cifar'\. Did you mean resnet50-cifar"):
        evonorm.create_model("resnet-50-cifar")


def test_a_misspelt_layer_lists_the_closest():
    with pytest.raises(ValueError, match="Did you mean evonorm-b0"):
        evonorm.create_model("resnet-nano", "evonorm_b0")


@pytest.mark.parametrize("width", [0.0, -1.0, 0.001, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2", "mnasnet-b1", "efficientnet-b0", "resnet-nano"])
def test_a_width_without_channels(name, width):
    with pytest.raises(ValueError, match="leaves no channels"):
        evonorm.create_model(name, width=width)


@pytest.mark.parametrize("classes", [0, -1, 2.5, True, "ten"])
def test_a_bad_number_of_classes(classes):
    with pytest.raises(ValueError, match="num_classes must be a whole number"):
        evonorm.create_model("resnet-nano", num_classes=classes)


def test_bad_layers():
    with pytest.raises(TypeError, match="layer must be a name, formula text, a Graph or a callable"):
        evonorm.create_model("resnet-nano", 3)
    with pytest.raises(TypeError, match=r"must return an nn\.Module, got str"):
        evonorm.create_model("resnet-nano", lambda channels, nonlinearity=True: "relu")
    with pytest.raises(ValueError, match="a callable sets its own"):
        evonorm.create_model("resnet-nano", nn.BatchNorm2d, groups=4)
    with pytest.raises(ValueError, match="groups must be a whole number"):
        evonorm.create_model("resnet-nano", "evonorm-s0", groups=0)


@pytest.mark.parametrize(("name", "stride"), [("resnet50", 32), ("efficientnet-b0", 32), ("resnet50-cifar", 8)])
def test_images_that_the_strides_use_up(name, stride):
    with torch.device("meta"):
        model = evonorm.create_model(name).eval()
        model(torch.empty(2, 3, stride, stride))
        with pytest.raises(ValueError, match=f"too small: the model's strides divide them by {stride}"):
            model(torch.empty(2, 3, stride, stride - 1))


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 1, 32, 32), (2, 32, 32, 3)])
def test_what_is_not_an_image(shape):
    with pytest.raises(ValueError, match=r"expected images \(batch, 3, height, width\)"):
        evonorm.create_model("resnet-nano")(torch.zeros(shape))
