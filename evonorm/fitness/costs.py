"""What a layer costs whoever uses it, from its graph alone, so that two searches see the same: less is better."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evonorm.foundation import unknown_name
from evonorm.graph import Graph, simplify
from evonorm.journal import Ranked
from evonorm.kernels import instruction_count


@lru_cache(100_000)  # a live page asks again with every score
def node_count(graph: Graph) -> float:
    """How many primitives its formula has, once it is simplified: what a person has to read."""
    return float(len(simplify(graph).live_nodes))


@lru_cache(100_000)
def instructions(graph: Graph) -> float:
    """How many instructions the kernel runs for each element, forward and backward: near to what it takes in time.

    A graph with a primitive that the kernel has no instruction for, or too large for it, costs more than any other.
    """
    try:
        return float(instruction_count(graph))
    except (ValueError, OverflowError):
        return math.inf


COSTS: dict[str, Callable[[Graph], float]] = {"nodes": node_count, "instructions": instructions}


def cost_named(name: str) -> Callable[[Graph], float]:
    if name not in COSTS:
        raise unknown_name("cost", name, COSTS)
    return COSTS[name]


@dataclass(frozen=True)
class Priced:
    """A function with what it costs."""

    ranked: Ranked
    cost: float


def cost_front(functions: Sequence[Ranked], cost: Callable[[Graph], float]) -> list[Priced]:
    """The functions that none is both cheaper and better than, from the cheapest up: each step up scores more."""
    priced = sorted((Priced(each, cost(each.graph)) for each in functions), key=lambda p: (p.cost, -p.ranked.average))
    front: list[Priced] = []
    for each in priced:
        if not front or each.ranked.average > front[-1].ranked.average:
            front.append(each)
    return front
