"""Runs any graph with plain torch operations: the reference that every other kernel must match.

Works on any device, dtype and layout, for inputs (N, C, *spatial) with zero to three spatial axes, and is twice
differentiable. Values that do not vary over an axis stay of size one there and broadcast; this equals the paper's
shape-preserving definition, since every element would be repeated equally often.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from evonorm.graph import LOG_SQRT_EPS, SMALLEST_DIVISOR, V0, V1, ZERO, Graph, X


def run_eager(
    graph: Graph,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    v0: Tensor | None,
    v1: Tensor | None,
    *,
    groups: int,
    eps: float,
    moving: Sequence[Tensor] | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The graph's output times `weight` plus `bias`, and the raw moments of this batch.

    A raw moment is (C,): the mean, mean of squares or biased variance behind each node in `graph.batch_moments`, in
    that order, detached. With `moving`, these stand in for the batch's and nothing is returned for them.
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # statistics never below fp32
    if x.ndim == 2:
        wide = wide.unsqueeze(-1)  # (b, c) is (b, c, 1): moments over w,h then see one value

    def per_channel(vector: Tensor) -> Tensor:
        return vector.to(wide.dtype).reshape(1, -1, *(1,) * (wide.ndim - 2))  # (1, c, 1, ...)

    values = {X: wide, ZERO: wide.new_zeros((1,) * wide.ndim)}
    values.update({number: per_channel(v) for number, v in ((V0, v0), (V1, v1)) if v is not None})
    batch: list[Tensor] = []
    for number, node in graph.live_nodes:
        moment, index_set = node.primitive.moment, node.primitive.index_set
        inputs = [values[i] for i in node.inputs]
        if moment is None or index_set is None:
            values[number] = ELEMENTWISE[node.op](*inputs)
            continue
        if index_set == "bwh" and moving is not None:
            raw = per_channel(moving[graph.batch_moments.index(number)])
        else:
            raw = raw_moment(moment, index_set, inputs[0], groups)
        if index_set == "bwh" and moving is None:
            batch.append(raw.detach().reshape(-1).expand(x.shape[1]))
        values[number] = raw if moment == "mean" else torch.sqrt(raw + eps)
    y = values[graph.output] * per_channel(weight) + per_channel(bias)
    if y.shape != wide.shape:
        y = y + torch.zeros_like(wide)  # an output that is constant over some axes still fills the input's shape
    return y.reshape(x.shape).to(x.dtype), tuple(batch)


def signed_log(a: Tensor) -> Tensor:
    return torch.sign(a) * torch.log(torch.abs(a) + LOG_SQRT_EPS)


def signed_sqrt(a: Tensor) -> Tensor:
    return torch.sign(a) * torch.sqrt(torch.abs(a) + LOG_SQRT_EPS)


def guarded_div(a: Tensor, b: Tensor) -> Tensor:
    """a / b with b pushed away from zero, keeping its sign; zero, also -0, counts as positive."""
    return a / torch.where(b >= 0, b.clamp(min=SMALLEST_DIVISOR), b.clamp(max=-SMALLEST_DIVISOR))


ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "div": guarded_div,
    "max": torch.maximum,  # splits the gradient at ties in halves, NaN from either side
    "neg": torch.neg,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "log": signed_log,
    "abs": torch.abs,
    "square": torch.square,
    "sqrt": signed_sqrt,
}


def raw_moment(moment: str, index_set: str, a: Tensor, groups: int) -> Tensor:
    """Mean, mean of squares (for rms) or biased variance (for std) over the index set, broadcastable to `a`."""
    spatial = tuple(range(2, a.ndim))
    if index_set == "whcg":
        split = a.unflatten(1, (groups if a.shape[1] > 1 else 1, -1))  # (b, g, c/g, ...)
        raw = moment_over(tuple(range(2, split.ndim)), moment, split)  # (b, g, 1, ...)
        return raw.expand(-1, -1, split.shape[2], *raw.shape[3:]).flatten(1, 2)  # (b, c, 1, ...)
    axes = {"bwh": (0, *spatial), "whc": (1, *spatial), "wh": spatial}[index_set]
    return moment_over(axes, moment, a)


def moment_over(axes: tuple[int, ...], moment: str, a: Tensor) -> Tensor:
    if moment == "rms":
        return torch.square(a).mean(axes, keepdim=True)
    mean = a.mean(axes, keepdim=True)
    if moment == "mean":
        return mean
    return torch.square(a - mean).mean(axes, keepdim=True)  # two passes: right also where mean >> std
