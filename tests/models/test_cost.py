"""Multiply-adds of layers counted by hand, folding, the command and the drawings in the docs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evonorm.cli.root import app
from evonorm.graph import Graph
from evonorm.models import ANCHORS, draw_positions, model_cost, trace_model
from evonorm.models.layer_cost import layer_multiply_adds, layer_to_count

C, P = 10, 100  # channels and pixels
E = C * P

# name or formula, behind a convolution, elsewhere
BY_HAND = [
    ("bn-relu", E, 2 * E),  # the maximum; the affine folds or costs one multiply-add
    ("bn-silu", 3 * E, 4 * E),  # v1 z, sigmoid, product
    ("gn-relu", 7 * E + C, 7 * E + C),  # mean 1, std 2, subtract (negate C means first), divide, affine, maximum
    ("frn", 4 * E, 4 * E),  # rms, divide, affine, maximum
    ("pixelnorm-relu", 4 * E, 4 * E),
    ("evonorm-b0", 7 * E, 7 * E),  # std 2, v1 x, sum, maximum, divide, affine
    ("evonorm-b2", 6 * E, 6 * E),  # rms 1, sum with -x (negate x), maximum, divide, affine
    ("evonorm-s0", 7 * E, 7 * E),  # std 2, v1 x, sigmoid, product, divide, affine
    ("rs-rej", 2 * E, 2 * E),  # the maximum; the division folds into gamma
    ("x / std_bwh(x)", 0, E),
    ("max(x, 0)", 2 * E, 2 * E),
    ("x + x * v1 - mean_bwh(x)", 0, E),
    ("x * x", 2 * E, 2 * E),
    ("0 / x", 2 * E, 2 * E),
    ("v0", 0, 0),
    ("mean_bwh(x)", 0, 0),
    ("x * mean_wh(mean_wh(x))", 3 * E + C, 3 * E + C),
]


@pytest.mark.parametrize(("layer", "folded", "alone"), BY_HAND)
def test_layers_by_hand(layer, folded, alone):
    counted = layer_to_count(layer, nonlinearity=True)
    assert layer_multiply_adds(counted, C, P, behind_conv=True) == folded
    assert layer_multiply_adds(counted, C, P, behind_conv=False) == alone


@pytest.mark.parametrize(
    ("layer", "folded"), [("bn-relu", 0), ("evonorm-b0", 0), ("evonorm-s0", 0), ("gn-silu", 6 * E + C), ("frn", 3 * E)]
)
def test_layers_without_nonlinearity(layer, folded):
    assert layer_multiply_adds(layer_to_count(layer, nonlinearity=False), C, P, behind_conv=True) == folded


def test_a_graph_and_its_name_cost_the_same():
    graph = Graph.parse("x / max(std_bwh(x), v1 * x + std_wh(x))")
    by_graph, by_name = model_cost("resnet50", graph), model_cost("resnet50", "evonorm-b0")
    assert by_graph.multiply_adds == by_name.multiply_adds
    assert by_graph.parameters == by_name.parameters


def test_layers_of_a_mobilenet():
    """BN-ReLU costs one operation per activated element; all layers sit behind convolutions."""
    trace = trace_model("mobilenetv2")
    assert all(step.behind_conv for step in trace.layers)
    activated = sum(step.channels * step.height * step.width for step in trace.layers if step.nonlinearity)
    assert model_cost("mobilenetv2").layer_multiply_adds == activated
    assert model_cost("mobilenetv2", "evonorm-b0").layer_multiply_adds == 7 * activated


def test_in_a_resnet_the_layers_behind_sums_do_not_fold():
    layers = trace_model("resnet50").layers
    assert [step.path for step in layers if not step.behind_conv] == [
        *(f"blocks.{i}.layer1" for i in range(16)),
        "last_layer",
    ]


def test_command():
    result = CliRunner().invoke(app, ["cost", "resnet50", "--layer", "bn-relu", "--layer", "evonorm-b0"])
    assert result.exit_code == 0, result.output
    rows = [line for line in result.output.splitlines() if "bn-relu" in line or "evonorm-b0" in line]
    assert "25,549,352" in rows[0]
    assert "4,089.2 M" in rows[0]
    assert "25,572,072" in rows[1]


def test_command_draws():
    result = CliRunner().invoke(app, ["cost", "mobilenetv2-cifar", "--positions"])
    assert result.exit_code == 0, result.output
    assert "block 5     16x16  2 x 1x1>96 [96] dw3x3 [96] 1x1>16 (16) +" in result.output


@pytest.mark.parametrize("anchor", ANCHORS)
def test_the_docs_show_the_anchor_as_it_is(anchor):
    docs = Path(__file__).parents[2] / "docs" / "models.md"
    assert draw_positions(trace_model(anchor, ANCHORS[anchor].crop)) in docs.read_text()
