"""Rewrites a graph by identities that hold for every input: thousands of pairs of equal layers that look different."""

from evonorm.graph import PRIMITIVES, Graph, Node
from evonorm.graph.graph import INITIAL_NODES, ZERO


class Rewriter:
    """Copies a graph node by node; `rewrite` writes each node in one of the ways that mean the same."""

    def __init__(self, rng, share):
        self.rng, self.share = rng, share
        self.numbers = {}

    def rewrite(self, graph):
        places = {number: number for number in range(len(INITIAL_NODES))}
        for number, node in graph.live_nodes:
            places[number] = self.node(node.op, *(places[i] for i in node.inputs))
        return self.without_what_was_not_chosen(places[graph.output])

    def without_what_was_not_chosen(self, output):
        nodes, numbers = list(self.numbers), {number: number for number in range(len(INITIAL_NODES))}
        kept = []

        def keep(number):
            if number not in numbers:
                node = nodes[number - len(INITIAL_NODES)]
                kept.append(Node(node.op, tuple(keep(i) for i in node.inputs)))
                numbers[number] = len(INITIAL_NODES) + len(kept) - 1
            return numbers[number]

        keep(output)
        return Graph(tuple(kept))

    def emit(self, op, *inputs):
        return self.numbers.setdefault(Node(op, inputs), len(INITIAL_NODES) + len(self.numbers))

    def node(self, op, *inputs):
        if self.rng.random() >= self.share:
            return self.emit(op, *inputs)
        ways = [*self.ways(op, *inputs), *self.wrapped(self.emit(op, *inputs))]
        return ways[self.rng.integers(len(ways))]

    def made_by(self, op, number):
        """The inputs of a node if it applies this primitive."""
        nodes = list(self.numbers)
        node = nodes[number - len(INITIAL_NODES)] if number >= len(INITIAL_NODES) else None
        return node.inputs if node and node.op == op else None

    def wrapped(self, y):
        e = self.emit
        one = e("exp", ZERO)
        return [e("neg", e("neg", y)), e("add", y, ZERO), e("mul", one, y), e("div", y, one), e("max", y, y)]

    def ways(self, op, *inputs):
        primitive = PRIMITIVES[op]
        if primitive.aggregates:
            return self.moment(op, primitive.moment, primitive.index_set, *inputs)
        return getattr(self, op)(*inputs)

    def add(self, a, b):
        e = self.emit
        yield e("add", b, a)
        yield e("neg", e("add", e("neg", a), e("neg", b)))
        if parts := self.made_by("add", a):
            yield e("add", parts[0], e("add", parts[1], b))

    def mul(self, a, b):
        e = self.emit
        yield e("mul", b, a)
        yield e("mul", e("neg", a), e("neg", b))
        if parts := self.made_by("mul", a):
            yield e("mul", parts[0], e("mul", parts[1], b))
        if parts := self.made_by("add", a):
            yield e("add", e("mul", parts[0], b), e("mul", parts[1], b))
        if parts := self.made_by("div", a):
            yield e("div", e("mul", parts[0], b), parts[1])

    def div(self, a, b):
        e = self.emit
        yield e("neg", e("div", e("neg", a), b))
        yield e("mul", a, e("div", e("exp", ZERO), b))
        if parts := self.made_by("mul", a):
            yield e("mul", parts[0], e("div", parts[1], b))
        if parts := self.made_by("add", a):
            yield e("add", e("div", parts[0], b), e("div", parts[1], b))

    def max(self, a, b):
        e = self.emit
        yield e("max", b, a)
        yield e("max", a, e("max", b, a))
        yield e("add", a, e("max", ZERO, e("add", b, e("neg", a))))

    def neg(self, a):
        e = self.emit
        yield e("mul", a, e("neg", e("exp", ZERO)))

    def sigmoid(self, a):
        e = self.emit
        yield e("add", e("exp", ZERO), e("neg", e("sigmoid", e("neg", a))))

    def tanh(self, a):
        e = self.emit
        yield e("neg", e("tanh", e("neg", a)))
        twice = e("sigmoid", e("add", a, a))
        yield e("add", twice, e("add", twice, e("neg", e("exp", ZERO))))

    def exp(self, a):
        if parts := self.made_by("add", a):
            yield self.emit("mul", self.emit("exp", parts[0]), self.emit("exp", parts[1]))

    def log(self, a):
        yield self.emit("neg", self.emit("log", self.emit("neg", a)))

    def sqrt(self, a):
        yield self.emit("neg", self.emit("sqrt", self.emit("neg", a)))

    def abs(self, a):
        yield self.emit("abs", self.emit("neg", a))
        yield self.emit("max", a, self.emit("neg", a))

    def square(self, a):
        yield self.emit("mul", a, a)
        yield self.emit("square", self.emit("abs", a))

    def moment(self, op, moment, index_set, a):
        e = self.emit
        flipped = e(op, e("neg", a))
        yield e("neg", flipped) if moment == "mean" else flipped
        if moment == "rms":
            yield e(op, e("abs", a))
        if moment == "std":
            yield e(op, e("add", a, e("neg", e(f"mean_{index_set}", a))))
        if moment == "mean":
            yield e(op, e("mean_wh", a))
            if parts := self.made_by("add", a):
                yield e("add", e(op, parts[0]), e(op, parts[1]))


def rewritten(graph: Graph, rng, share=0.5) -> Graph:
    """An equal layer with other nodes; `share` of the nodes are written differently."""
    return Rewriter(rng, share).rewrite(graph)
