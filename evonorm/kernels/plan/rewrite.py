"""From a graph to its plan: the affine folded in, multiply-adds fused, the dead left out."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from evonorm.graph import V0, V1, ZERO, Graph, X
from evonorm.kernels.plan.plan import Export, Plan
from evonorm.kernels.plan.values import Kind, Values


def make_plan(
    graph: Graph, eps: float, training: bool, per_sample: frozenset[str] = frozenset(), trust_moving: bool = False
) -> Plan:
    """The graph and its final affine as values. In eval mode batch moments are leaves.

    `per_sample` says which of "weight" and "bias" are (B, C) and not (C,). `trust_moving` believes that moving
    variances and means of squares are not negative, so that a division by their root needs no guard.
    """
    values = Values(eps, per_sample)
    found = {X: values.leaf("x"), ZERO: values.const(0.0), V0: values.leaf("v0"), V1: values.leaf("v1")}
    exports: list[Export] = []
    for number, node in graph.live_nodes:
        inputs = [found[i] for i in node.inputs]
        moment, index_set = node.primitive.moment, node.primitive.index_set
        if moment is None or index_set is None:
            found[number] = values.add(node.op, *inputs)
        elif index_set == "bwh" and not training:
            found[number] = _moving_moment(values, moment, graph.batch_moments.index(number), trust_moving)
        else:
            found[number] = values.moment(moment, index_set, inputs[0])
            if index_set == "bwh":
                source = values.shifted.get(found[number], found[number])
                is_moment = values[source].op == "moment" and source != inputs[0]
                exports.append(Export(moment, source if is_moment else inputs[0], not is_moment))
    output = _with_affine(values, found[graph.output])
    return _fused_and_ordered(values, output, exports)


def _moving_moment(values: Values, moment: str, index: int, trust: bool) -> int:
    if moment == "mean":
        return values.leaf("moving", index)
    raw = values.leaf("moving", index, lower=0.0 if trust else -math.inf)
    return values.add("sqrt_plus", raw, values.const(values.eps))


def _with_affine(values: Values, output: int) -> int:
    """output * weight + bias. Small factors and signs of the output move into the weight, once per row."""
    weight = values.leaf("weight")
    while True:
        value = values[output]
        if value.op == "neg" and value.kind == Kind.FULL:
            output, weight = value.inputs[0], values.add("neg", weight)
        elif value.op == "mul" and value.kind == Kind.FULL and min(values[i].kind for i in value.inputs) < Kind.FULL:
            small, output = sorted(value.inputs, key=lambda i: values[i].kind)
            weight = values.add("mul", weight, small)
        else:
            return values.make("fma", output, weight, values.leaf("bias"), full=True)


def _fused_and_ordered(values: Values, output: int, exports: list[Export]) -> Plan:
    """Only what the output or an export needs, numbered by a walk from the output, with add(mul) fused to fma."""
    uses = _count_uses(values, [output, *(export.source for export in exports)])
    fused = Values(values.eps, values.per_sample)
    new_numbers: dict[int, int] = {}

    def visit(number: int) -> int:
        if number not in new_numbers:
            new_numbers[number] = _copy_into(fused, values, number, uses, visit)
        return new_numbers[number]

    new_output = visit(output)
    new_exports = tuple(replace(export, source=visit(export.source)) for export in exports)
    return Plan(tuple(fused.items), new_output, new_exports, values.eps)


def _count_uses(values: Values, roots: list[int]) -> Counter[int]:
    uses: Counter[int] = Counter(roots)
    for number in range(len(values.items) - 1, -1, -1):
        if uses[number]:
            uses.update(values[number].inputs)
    return uses


def _copy_into(fused: Values, values: Values, number: int, uses: Counter[int], visit: Callable[[int], int]) -> int:
    value = values[number]
    if value.op == "const":
        return fused.const(value.constant)
    if value.op == "moment":
        return fused.moment(value.moment, value.index_set, visit(value.inputs[0]))
    if not value.inputs:
        return fused.leaf(value.op, value.index, value.lower)
    if value.op == "add":
        for product, other in (value.inputs, value.inputs[::-1]):
            if values[product].op == "mul" and values[product].kind == Kind.FULL and uses[product] == 1:
                return fused.make("fma", *(visit(i) for i in values[product].inputs), visit(other))
    full = number_is_forced_full(values, number)
    return fused.make(value.op, *(visit(i) for i in value.inputs), full=full)


def number_is_forced_full(values: Values, number: int) -> bool:
    """Whether a value fills the whole tensor though none of its inputs does: an output that does not read x."""
    value = values[number]
    return value.kind == Kind.FULL and all(values[i].kind < Kind.FULL for i in value.inputs)
