"""The convolutions of an 8-bit TensorFlow Lite file as float32: value = scale * (number - zero)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evonorm.foundation import needs

TYPES = {2: np.int32, 3: np.uint8}  # the file format's numbers of types


def convolutions_of(path: Path) -> Sequence[Tensor]:
    """Weight, bias and ceiling of each convolution in the order of the graph; of the last, the head, no ceiling."""
    with needs("gan", "reading a TensorFlow Lite file"):
        import tflite  # type: ignore[import-not-found, import-untyped, unused-ignore]
    model = tflite.Model.GetRootAs(path.read_bytes(), 0)
    graph = model.Subgraphs(0)
    numbers: list[Tensor] = []
    for operator in _convolutions(model, graph, tflite.BuiltinOperator.CONV_2D):
        weight, bias = (_values(model, graph.Tensors(operator.Inputs(place))) for place in (1, 2))
        scale = graph.Tensors(operator.Outputs(0)).Quantization().ScaleAsNumpy()
        ceiling = torch.tensor(255 * np.float32(scale[0]))  # where 8 bits end; they begin at zero, which is the ReLU
        numbers += [weight.permute(0, 3, 1, 2), bias, ceiling]
    *trunk, head, bias, _ = numbers
    return [*trunk, head.flatten(1), bias]


def _convolutions(model: Any, graph: Any, code: int) -> Iterator[Any]:
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        if model.OperatorCodes(operator.OpcodeIndex()).DeprecatedBuiltinCode() == code:
            yield operator


def _values(model: Any, tensor: Any) -> Tensor:
    stored = model.Buffers(tensor.Buffer()).DataAsNumpy().view(TYPES[tensor.Type()]).reshape(tensor.ShapeAsNumpy())
    how = tensor.Quantization()
    scale, zero = how.ScaleAsNumpy()[0], how.ZeroPointAsNumpy()[0]
    return torch.from_numpy((np.float64(scale) * (stored.astype(np.int64) - zero)).astype(np.float32))
