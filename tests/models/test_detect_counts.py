"""The paper's detectors to the last parameter, and its ten figures of multiply-adds."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evonorm.cli.root import app
from evonorm.models import draw_positions, model_cost, trace_model

pytest.importorskip("torchvision")

# parameters, then multiply-adds (B) of the paper's table "Mask R-CNN on COCO"; the paper rounds to 0.01 M and 0.1 B
PAPER = {
    ("maskrcnn-r50-fpn", "bn-relu"): (46_367_089, 379.7),
    ("maskrcnn-r50-fpn", "bn-silu"): (46_379_313, 379.9),
    ("maskrcnn-r50-fpn", "evonorm-b0"): (46_379_313, 380.4),
    ("maskrcnn-r50-fpn", "evonorm-s0"): (46_379_313, 380.4),
    ("maskrcnn-r50-fpn", "gn-relu"): (46_367_089, 380.8),
    ("maskrcnn-spinenet96", "bn-relu"): (55_185_009, 315.0),
    ("maskrcnn-spinenet96", "bn-silu"): (55_207_729, 315.2),
    ("maskrcnn-spinenet96", "evonorm-b0"): (55_207_729, 315.8),
    ("maskrcnn-spinenet96", "evonorm-s0"): (55_207_729, 315.8),
    ("maskrcnn-spinenet96", "gn-relu"): (55_185_009, 316.5),
}
# convolutions and dense layers, counted twice elsewhere: by TensorFlow's profiler and on an independent torch model
CONVOLUTIONS = {"maskrcnn-r50-fpn": 378.903, "maskrcnn-spinenet96": 314.134}
ELEMENTS = {"maskrcnn-r50-fpn": (199.1, 169.1), "maskrcnn-spinenet96": (230.2, 287.9)}  # M, with and without activation


@pytest.mark.parametrize(("model", "layer"), PAPER)
def test_parameters_and_multiply_adds_are_the_papers(model, layer):
    parameters, multiply_adds = PAPER[model, layer]
    cost = model_cost(model, layer)
    assert cost.image_size == 1024
    assert cost.parameters == parameters
    assert round(cost.conv_multiply_adds / 1e9, 3) == CONVOLUTIONS[model]
    assert cost.paper_multiply_adds / 1e9 == pytest.approx(multiply_adds, abs=0.15)


@pytest.mark.parametrize("model", ELEMENTS)
def test_as_many_elements_are_normalized_as_in_tensorflows_graph(model):
    layers = trace_model(model).layers
    found = [
        sum(step.times * step.channels * step.height * step.width for step in layers if step.nonlinearity is active)
        for active in (True, False)
    ]
    assert tuple(round(each / 1e6, 1) for each in found) == ELEMENTS[model]


@pytest.mark.parametrize(
    ("name", "millions", "billions"),  # of the SpineNet paper's table of Mask R-CNN, BN-ReLU, each at its own size
    [("49s", 13.9, 60.2), ("49", 40.8, 215.7), ("96", 55.2, 315.0), ("143", 79.2, 498.8)],
)
def test_the_other_spinenets_have_their_published_sizes(name, millions, billions):
    cost = model_cost(f"maskrcnn-spinenet{name}")
    assert round(cost.parameters / 1e6, 1) == millions
    assert cost.paper_multiply_adds / 1e9 == pytest.approx(billions, rel=0.004)


def test_the_paper_column_is_for_its_layers_alone():
    assert model_cost("maskrcnn-nano", "frn").paper_multiply_adds is None
    assert model_cost("resnet50").paper_multiply_adds is None


def test_command():
    result = CliRunner().invoke(app, ["cost", "maskrcnn-r50-fpn", "--layer", "evonorm-b0", "--layer", "frn"])
    assert result.exit_code == 0, result.output
    ours, other = (line for line in result.output.splitlines() if "evonorm-b0" in line or "frn" in line)
    assert "46,379,313" in ours
    assert "378.90 G" in ours
    assert "380.39 G" in ours
    assert "- " in other


@pytest.mark.parametrize("model", ["maskrcnn-r50-fpn", "maskrcnn-nano"])
def test_the_docs_show_where_the_layers_sit(model):
    docs = Path(__file__).parents[2] / "docs" / "detection.md"
    assert draw_positions(trace_model(model)) in docs.read_text()
