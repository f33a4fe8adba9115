"""Every layer works in every anchor, and the anchors are what the paper's appendix says."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import evonorm
from evonorm.graph import CATALOG
from evonorm.models import ANCHORS, trace_model

BROKEN = {"b0-no-global", "b0-add"}  # 1e-3 in the paper's Table "Impact of structural changes"


def distinct_layers():
    """The catalog repeats some formulas in its top lists, as the paper does; one name for each is enough."""
    first = {}
    for name, entry in CATALOG.items():
        first.setdefault((entry.formula, entry.affine_inside), name)
    return list(first.values())


def images(size, batch=8, seed=0):
    x = torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(seed))
    return x.contiguous(memory_format=torch.channels_last)


def watch_layouts(model):
    """Fills the returned list with the names of modules that give out a map that is not channels_last."""
    strays = []

    def check(name, output):
        if output.ndim == 4 and not output.is_contiguous(memory_format=torch.channels_last):
            strays.append(name)

    for name, module in model.named_modules():
        module.register_forward_hook(lambda module, inputs, output, name=name: check(name, output))
    return strays


@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.parametrize("layer", distinct_layers())
def test_a_layer_trains_and_evaluates(layer, anchor):
    torch.manual_seed(1)
    model = evonorm.create_model(anchor, layer).to(memory_format=torch.channels_last)
    strays = watch_layouts(model)
    loss = F.cross_entropy(model(images(24)), torch.arange(8))
    loss.backward()
    if layer not in BROKEN:
        assert loss.isfinite()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    with torch.no_grad():
        logits = model.eval()(images(32, batch=4))
    assert logits.shape == (4, 10)
    assert layer in BROKEN or logits.isfinite().all()
    assert not strays


def strides(anchor):
    model = evonorm.create_model(anchor)
    return [(name, m.stride[0]) for name, m in model.named_modules() if isinstance(m, nn.Conv2d) and m.stride[0] > 1]


def test_the_first_two_strided_convolutions_have_stride_one():
    assert strides("resnet50-cifar") == [
        ("blocks.7.spatial", 2),
        ("blocks.7.shortcut", 2),
        ("blocks.13.spatial", 2),
        ("blocks.13.shortcut", 2),
    ]
    assert strides("mobilenetv2-cifar") == [(f"blocks.{i}.depthwise", 2) for i in (3, 6, 13)]
    assert strides("efficientnet-b0-cifar") == [(f"blocks.{i}.depthwise", 2) for i in (3, 5, 11)]
    assert evonorm.create_model("resnet50-cifar").pool.stride == 2  # a pool is no convolution


@pytest.mark.parametrize(
    ("anchor", "original", "width"),
    [
        ("resnet50-cifar", "resnet50", 0.25),
        ("mobilenetv2-cifar", "mobilenetv2", 0.5),
        ("efficientnet-b0-cifar", "efficientnet-b0", 0.5),
    ],
)
def test_nothing_but_strides_and_width_changes(anchor, original, width):
    ours, theirs = (
        [(step.kind, step.path, step.channels, step.nonlinearity) for step in trace_model(name, 64, 10, width).steps]
        for name, width in ((anchor, 1.0), (original, width))
    )
    assert ours == theirs
    anchor_model, model = evonorm.create_model(anchor), evonorm.create_model(original, num_classes=10, width=width)
    assert anchor_model.state_dict().keys() == model.state_dict().keys()
    rates = [[m.p for m in net.modules() if isinstance(m, nn.Dropout)] for net in (anchor_model, model)]
    assert rates[0] == rates[1]


def kinds_of_position(name):
    """Where layers sit, as the step before, the step after, and whether they have a nonlinearity."""
    steps = trace_model(name).steps

    def kind(step):
        return step.text.partition(">")[0].removesuffix("/2") if step.kind == "conv" else step.kind

    around = zip(steps, steps[1:], steps[2:], strict=False)
    return {
        (kind(before).replace("5x5", "3x3"), kind(after).replace("5x5", "3x3"), step.nonlinearity)
        for before, step, after in around
        if step.kind == "layer"
    }


@pytest.mark.parametrize(
    ("nano", "anchor"),
    [
        ("resnet-nano", "resnet50-cifar"),
        ("mobilenet-nano", "mobilenetv2-cifar"),
        ("efficientnet-nano", "efficientnet-b0-cifar"),
        ("mobilenet-thin", "mobilenetv2-cifar"),
    ],
)
def test_small_anchors_keep_every_kind_of_position(nano, anchor):
    assert kinds_of_position(nano) == kinds_of_position(anchor)


@pytest.mark.parametrize("nano", ["resnet-nano", "mobilenet-nano", "efficientnet-nano", "mobilenet-thin"])
def test_groups_of_small_anchors_have_two_channels_or_more(nano):
    model = evonorm.create_model(nano, "evonorm-s0")
    assert all(m.channels // m.groups >= 2 for m in model.modules() if isinstance(m, evonorm.NormAct))


def test_the_thin_anchor_has_its_originals_depth_and_head():
    thin, original = (trace_model(name).steps for name in ("mobilenet-thin", "mobilenetv2-cifar"))
    for kind in ("conv", "layer"):
        assert sum(step.kind == kind for step in thin) == sum(step.kind == kind for step in original)
    heads = [[step.channels for step in steps if step.kind == "layer"][-1] for steps in (thin, original)]
    assert heads == [1280, 1280]


def test_stochastic_depth_drops_whole_branches_and_keeps_the_mean():
    model = evonorm.create_model("efficientnet-b0-cifar")
    drop = next(m.drop for m in reversed(model.blocks) if m.drop is not None)
    torch.manual_seed(0)
    branch = torch.ones(20_000, 2, 1, 1)
    out = drop(branch)
    assert drop.rate == pytest.approx(0.2 * 14 / 16)  # the last with a shortcut is the 15th of 16 blocks
    assert out.unique().tolist() == pytest.approx([0, 1 / (1 - drop.rate)])
    assert out[:, 0].equal(out[:, 1])
    assert out.mean().item() == pytest.approx(1, abs=0.02)
    assert drop.eval()(branch).equal(branch)
