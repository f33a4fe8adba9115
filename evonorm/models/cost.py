"""Parameters and multiply-adds of a model with a layer, from the real modules."""

from dataclasses import dataclass

import torch

from evonorm.graph import Graph
from evonorm.models.create import create_model, find_model
from evonorm.models.forward_trace import Trace, trace_model
from evonorm.models.layer_cost import layer_multiply_adds, layer_to_count
from evonorm.models.tensorflow_cost import tensorflow_multiply_adds


@dataclass(frozen=True)
class Cost:
    """One model with one layer, for one image at inference."""

    model: str
    layer: str
    image_size: int
    parameters: int
    conv_multiply_adds: int  # convolutions and dense layers, by torch's flop counter
    layer_multiply_adds: int  # element-wise functions and moments of the layers, what folds into convolutions left out
    paper_multiply_adds: int | None = None  # of a detector with a layer of the paper's table, counted as there

    @property
    def multiply_adds(self) -> int:
        return self.conv_multiply_adds + self.layer_multiply_adds


def model_cost(
    name: str,
    layer: str | Graph = "bn-relu",
    image_size: int | None = None,
    num_classes: int | None = None,
    width: float = 1.0,
) -> Cost:
    """Counts without computing: everything runs on the meta device.

    Arguments:
        name: one of `model_names()`.
        layer: a name of `layer_names()`, formula text or a Graph.
        image_size: height and width; by default the size that the model was designed for.
        num_classes, width: as in `create_model`.
    """
    with torch.device("meta"):
        model = create_model(name, layer, num_classes, width)
    trace = trace_model(name, image_size, num_classes, width)
    return Cost(
        name,
        str(layer),
        trace.image_size,
        sum(parameter.numel() for parameter in model.parameters()),
        trace.multiply_adds,
        cost_of_layers(layer, trace),
        tensorflow_multiply_adds(str(layer), trace) if find_model(name).kind == "detector" else None,
    )


def cost_of_layers(layer: str | Graph, trace: Trace) -> int:
    counted = {nonlinearity: layer_to_count(layer, nonlinearity) for nonlinearity in (True, False)}
    return sum(
        step.times
        * layer_multiply_adds(counted[step.nonlinearity], step.channels, step.height * step.width, step.behind_conv)
        for step in trace.layers
    )
