"""A layer as data: a frozen graph of primitive functions (paper, section "Search Space").

Node numbers 0 to 3 are the initial nodes x, 0, v0, v1; the intermediate nodes follow in order and only read earlier
ones; the last node is the output. Nodes that the output does not reach are *dead*: they cost nothing when the layer
runs, but they belong to the genotype, since a later mutation may bring them to life.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from evonorm.graph.primitive import Primitive
from evonorm.graph.primitives import PRIMITIVES

INITIAL_NODES = ("x", "0", "v0", "v1")
X, ZERO, V0, V1 = range(4)
PAPER_NODES = 10  # intermediate nodes in the paper's experiments
MAX_NODES = 60  # a bound against absurd input, far above any layer that makes sense


@dataclass(frozen=True)
class Node:
    """One intermediate node: the primitive's name and the numbers of the nodes it reads.

    Arguments:
        op: the name of a primitive, such as `std_bwh` or `mul`.
        inputs: numbers of earlier nodes; 0 to 3 are x, 0, v0 and v1, and 4 is the first intermediate one.

    Example: node = evonorm.Node("mul", (3, 0))  # v1 * x
    """

    op: str
    inputs: tuple[int, ...]

    @property
    def primitive(self) -> Primitive:
        return PRIMITIVES[self.op]


@dataclass(frozen=True)
class Graph:
    """A normalization-activation layer without its final affine `* gamma + beta`.

    Make one with `Graph.parse("x / std_bwh(x)")`, `sample_graph(rng)` or `Graph.decode(text)`. `str(graph)` is its
    formula, `graph.encode()` its storage form with the dead nodes. Graphs are frozen: `mutate` returns another one.

    Arguments:
        nodes: the intermediate nodes, each of which reads earlier ones; the last one is the output.

    Raises ValueError for no node or more than 60, an unknown primitive, or a node that reads a later one.

    Example:
        graph = evonorm.Graph.parse("x / max(std_bwh(x), v1 * x + std_wh(x))")
        assert graph == evonorm.Graph.decode(graph.encode())
        assert graph.reads("v1") and len(graph.batch_moments) == 1
    """

    nodes: tuple[Node, ...]
    # Found once on construction: plain attributes, which torch.compile can look through.
    live: tuple[int, ...] = field(init=False, compare=False, repr=False)
    """Numbers of the nodes that the output depends on, initial ones included, ascending."""
    live_nodes: tuple[tuple[int, Node], ...] = field(init=False, compare=False, repr=False)
    """The live intermediate nodes with their numbers, in the order in which they can be computed."""
    batch_moments: tuple[int, ...] = field(init=False, compare=False, repr=False)
    """Numbers of the live nodes that aggregate over the batch, in order: each needs a moving moment."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.nodes) <= MAX_NODES:
            raise ValueError(f"a graph has 1 to {MAX_NODES} intermediate nodes, got {len(self.nodes)}.")
        for number, node in enumerate(self.nodes, start=len(INITIAL_NODES)):
            _check_node(number, node)
        live = self._find_live()
        live_nodes = tuple([(number, self.node(number)) for number in live if number >= len(INITIAL_NODES)])
        object.__setattr__(self, "live", live)
        object.__setattr__(self, "live_nodes", live_nodes)
        object.__setattr__(self, "batch_moments", tuple([n for n, node in live_nodes if node.primitive.needs_batch]))

    @classmethod
    def parse(cls, text: str) -> "Graph":
        """The graph of a formula, e.g. `x * sigmoid(v1 * x) / std_whcg(x)`. Raises FormulaError with the place."""
        from evonorm.graph.formula import parse_formula

        return parse_formula(text)

    @classmethod
    def decode(cls, text: str) -> "Graph":
        """The inverse of `encode`."""
        return cls(tuple(_decode_node(word) for word in text.split()))

    def encode(self) -> str:
        """Compact text for storage, dead nodes included: `std_bwh:0 mul:3,0 …`, a word per intermediate node."""
        return " ".join([f"{node.op}:{','.join(map(str, node.inputs))}" for node in self.nodes])

    @property
    def output(self) -> int:
        """The number of the output node, which is the last one."""
        return len(INITIAL_NODES) + len(self.nodes) - 1

    def node(self, number: int) -> Node:
        """The intermediate node with this number (4 is the first)."""
        return self.nodes[number - len(INITIAL_NODES)]

    def _find_live(self) -> tuple[int, ...]:
        live, number = {self.output}, self.output
        for node in reversed(self.nodes):
            if number in live:
                live.update(node.inputs)
            number -= 1
        return tuple(sorted(live))

    def reads(self, name: str) -> bool:
        """Whether the output depends on this initial node, one of `x`, `0`, `v0`, `v1`."""
        return INITIAL_NODES.index(name) in self.live

    def latex(self) -> str:
        """The formula as LaTeX, live nodes only, without the final affine."""
        from evonorm.graph.formula import latex_text

        return latex_text(self)

    def __str__(self) -> str:
        from evonorm.graph.formula import formula_text

        return formula_text(self)


def live_only(graph: Graph) -> Graph:
    """The same function without the dead nodes."""
    numbers = {number: number for number in range(len(INITIAL_NODES))}
    nodes: list[Node] = []
    for number, node in graph.live_nodes:
        numbers[number] = len(INITIAL_NODES) + len(nodes)
        nodes.append(Node(node.op, tuple(numbers[i] for i in node.inputs)))
    return Graph(tuple(nodes))


def with_output(nodes: Iterable[Node], output: int) -> Graph:
    """A graph whose output is the given node; one that is not the last is written as `node + 0`, dead nodes go."""
    nodes = tuple(nodes)
    last = len(INITIAL_NODES) + len(nodes) - 1
    if output < len(INITIAL_NODES):
        return Graph((Node("add", (output, ZERO)),))
    return live_only(Graph(nodes[: len(nodes) - (last - output)]))


def _check_node(number: int, node: Node) -> None:
    primitive = PRIMITIVES.get(node.op)
    if primitive is None:
        raise ValueError(f"node {number}: there is no primitive {node.op!r}. Known: {', '.join(PRIMITIVES)}.")
    if len(node.inputs) != primitive.arity:
        raise ValueError(f"node {number}: {node.op} takes {primitive.arity} input(s), got {len(node.inputs)}.")
    for i in node.inputs:
        if not (isinstance(i, int) and 0 <= i < number):
            raise ValueError(f"node {number}: {node.op} reads node {i!r}; inputs are earlier nodes, 0 to {number - 1}.")


def _decode_node(word: str) -> Node:
    op, colon, inputs = word.partition(":")
    numbers = inputs.split(",")
    if not colon or not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f"cannot read {word!r} in a stored graph; expected a word like mul:3,0.")
    return Node(op, tuple(int(number) for number in numbers))
