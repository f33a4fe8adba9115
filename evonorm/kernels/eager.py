"""Runs any graph with plain torch operations: the reference that every other kernel must match.

Works on any device, dtype and layout, for inputs (N, C, *spatial) with zero to three spatial axes, and is twice
differentiable. Values that do not vary over an axis stay of size one there and broadcast; this equals the paper's
shape-preserving definition, since every element would be repeated equally often.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from evonorm.graph import ATOM, INDEX_SETS, PRIMITIVES, ROWS, V0, V1, ZERO, Node, Piece, Primitive, X
from evonorm.kernels.call import LayerCall, MovingMoments, Result, SyncedMoments, check_shapes
from evonorm.kernels.synced import moments_over_ranks


def run_eager(call: LayerCall) -> Result:
    """The call with torch's own operations."""
    check_shapes(call)
    graph, x = call.graph, call.x
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # statistics never below fp32
    if x.ndim == 2:
        wide = wide.unsqueeze(-1)  # (b, c) is (b, c, 1): moments over w,h then see one value
    batch_moment = batch_moments_of(call, wide)
    values = {X: wide, ZERO: wide.new_zeros((1,) * wide.ndim)}
    values.update({number: per_channel(v, wide) for number, v in ((V0, call.v0), (V1, call.v1)) if v is not None})
    batch: list[Tensor] = []
    for number, node in graph.live_nodes:
        moment, index_set = node.primitive.moment, node.primitive.index_set
        inputs = [values[i] for i in node.inputs]
        if moment is None or index_set is None:
            values[number] = torch_function(node.op)(*inputs)
            continue
        if not node.primitive.needs_batch:
            raw = raw_moment(moment, index_set, inputs[0], call.groups)
        else:
            raw = batch_moment(node, inputs[0], number)
            if not isinstance(call.moments, MovingMoments):
                batch.append(raw.detach().reshape(-1).expand(x.shape[1]))
        values[number] = raw if moment == "mean" else torch.sqrt(raw + call.eps)
    y = values[graph.output] * per_channel(call.weight, wide) + per_channel(call.bias, wide)
    if y.shape != wide.shape:
        y = y + torch.zeros_like(wide)  # an output that is constant over some axes still fills the input's shape
    return y.reshape(x.shape).to(x.dtype), tuple(batch)


def eager_gradients(call: LayerCall, wanted: Sequence[bool], gy: Tensor) -> list[Tensor | None]:
    """The same gradients through torch's own operations, differentiable once more."""
    y, _ = run_eager(call)
    inputs = (call.x, call.weight, call.bias, call.v0, call.v1)
    asked = [each for each, want in zip(inputs, wanted, strict=True) if want and each is not None]
    found = iter(torch.autograd.grad(y, asked, gy, create_graph=True, allow_unused=True))
    return [next(found) if want and each is not None else None for each, want in zip(inputs, wanted, strict=True)]


def per_channel(vector: Tensor, x: Tensor) -> Tensor:
    """A (C,) or (B, C) parameter shaped to broadcast over (B, C, *spatial), in x's dtype."""
    rows = vector.to(x.dtype) if vector.ndim == 2 else vector.to(x.dtype).unsqueeze(0)
    return rows.reshape(*rows.shape, *(1,) * (x.ndim - 2))  # (1 or b, c, 1, ...)


def batch_moments_of(call: LayerCall, wide: Tensor) -> Callable[[Node, Tensor, int], Tensor]:
    """How a raw moment over the batch is found: from its node, what it is of, and the node's number."""
    moments = call.moments
    if isinstance(moments, MovingMoments):
        moving = dict(zip(call.graph.batch_moments, moments.tensors, strict=True))
        return lambda node, a, number: per_channel(moving[number], wide)  # noqa: ARG005
    if isinstance(moments, SyncedMoments):
        over_ranks = moments_over_ranks(wide, moments)
        return lambda node, a, number: over_ranks(synced_kind(node), a, node.inputs[0])  # noqa: ARG005
    return lambda node, a, number: raw_moment(  # noqa: ARG005
        str(node.primitive.moment), str(node.primitive.index_set), a, call.groups
    )


def synced_kind(node: Node) -> str:
    """The kind of a moment that can be taken over all ranks."""
    if node.primitive.index_set != "bwh":
        raise ValueError(f"{node.primitive.name} cannot be taken over all ranks; moments over bwh can.")
    return str(node.primitive.moment)


def torch_function(op: str) -> Callable[..., Tensor]:
    """An element-wise primitive as a function of tensors: the source in its record, compiled once."""
    _compile_new_ones()
    return _functions[op]


def _compile(primitive: Primitive) -> Callable[..., Tensor]:
    assert primitive.torch is not None
    arguments = ("a", "b")[: primitive.arity]
    value = primitive.torch.fill([Piece(each, ATOM) for each in arguments], lambda text: f"({text})")
    code = f"_function = lambda {', '.join(arguments)}: {value.text}\n"
    namespace: dict[str, Any] = {"torch": torch, "Tensor": Tensor}
    exec("\n".join((*primitive.functions, code)), namespace)  # noqa: S102 (registered by a program or a plug-in)
    function: Callable[..., Tensor] = namespace["_function"]
    return function


_functions = {each.name: _compile(each) for row in ROWS for each in row if each.torch is not None}
_compiled_at = [0]  # how many changes of the register the functions above have seen


def _compile_new_ones() -> None:
    """All at once, before anyone looks: a tracer that has read the table would not see what comes later."""
    if _compiled_at != [PRIMITIVES.changes]:
        new = {name: each for name, each in PRIMITIVES.items() if each.torch is not None and name not in _functions}
        _functions.update({name: _compile_or_blame(each) for name, each in new.items()})
        _compiled_at[:] = [PRIMITIVES.changes]


def _compile_or_blame(primitive: Primitive) -> Callable[..., Tensor]:
    """The function; where its source cannot be run, one that says so, to those alone who call it."""
    try:
        return _compile(primitive)
    except Exception as error:
        problem = f"the torch source of the primitive {primitive.name} cannot be run: {error}."

        def blame(*_: Tensor) -> Tensor:
            raise ValueError(problem)

        return blame


# What torch.compiler.assume_constant_result sets; calling it would import all of dynamo, which takes seconds.
_compile_new_ones._dynamo_marked_constant = True  # type: ignore[attr-defined]


def raw_moment(moment: str, index_set: str, a: Tensor, groups: int) -> Tensor:
    """Mean, mean of squares (for rms) or biased variance (for std) over the index set, broadcastable to `a`."""
    averaged = INDEX_SETS[index_set]
    axes = (*((0,) if "b" in averaged.axes else ()), *(range(2, a.ndim) if "s" in averaged.axes else ()))
    if not averaged.splits_channels:
        return moment_over((*axes, 1) if "c" in averaged.axes else axes, moment, a)
    split = a.unflatten(1, (groups if a.shape[1] > 1 else 1, -1))  # (b, g, c/g, ...)
    raw = moment_over((2, *(axis + (axis > 1) for axis in axes)), moment, split)  # (b, g, 1, ...)
    return raw.expand(-1, -1, split.shape[2], *raw.shape[3:]).flatten(1, 2)  # (b, c, 1, ...)


def moment_over(axes: tuple[int, ...], moment: str, a: Tensor) -> Tensor:
    if moment == "rms":
        return torch.square(a).mean(axes, keepdim=True)
    center = a.mean(axes, keepdim=True)
    if moment == "mean":
        return center
    return torch.square(a - center).mean(axes, keepdim=True)  # two passes: right also where mean >> std
