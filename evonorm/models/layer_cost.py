"""What a layer costs at inference, counted from the live nodes of its graph (paper, appendix "Trade-off").

Counted in multiply-adds, as the records of primitives say: one for each element that an element-wise function of the
paper gives out, one per element read by a mean or an rms, two by a std (sum and sum of squares), one per element for
gamma and beta. At inference moments over the batch are moving ones, hence constants, and a function of constants is
computed once and costs nothing. The longest start of a graph that is affine in x folds into the convolution before it,
or costs one multiply-add where there is none, so BatchNorm is free behind a convolution and only its activation counts.
A factor at the end folds into gamma.
"""

from dataclasses import dataclass

from evonorm.graph import CATALOG, INDEX_SETS, INITIAL_NODES, Graph, Node, X, catalog_spelling, graph_of


@dataclass(frozen=True)
class CountedLayer:
    """A layer as a graph to count; with `affine_inside` gamma and beta come right behind the normalization."""

    graph: Graph
    affine_inside: bool = False


def layer_to_count(layer: str | Graph, nonlinearity: bool) -> CountedLayer:
    """The graph of a named layer, formula or graph at a position with or without nonlinearity."""
    entry = CATALOG.get(catalog_spelling(layer)) if isinstance(layer, str) else None
    if entry is not None and entry.normalization is not None:
        graph = graph_of(entry.name) if nonlinearity else Graph.parse(entry.normalization)
        return CountedLayer(graph, affine_inside=True)
    if not nonlinearity:
        return CountedLayer(Graph.parse("x"))
    return CountedLayer(graph_of(layer))


def layer_multiply_adds(layer: CountedLayer, channels: int, pixels: int, behind_conv: bool) -> int:
    """Multiply-adds for one image of `pixels` positions at inference."""
    graph = layer.graph
    constant = constants(graph)
    if graph.output in constant:
        return 0
    start = folded_start(graph, constant)
    end = graph.output if layer.affine_inside else folded_end(graph, constant, start)
    elements = channels * pixels
    start_has_affine = start == end or (layer.affine_inside and start != X)
    start_cost = elements if (start != X or start_has_affine) and not behind_conv else 0
    affine_cost = 0 if start_has_affine else elements
    return start_cost + affine_cost + nodes_cost(graph, constant, start, end, channels, pixels)


def constants(graph: Graph) -> set[int]:
    """Live nodes that are the same for every image at inference."""
    found = {number for number in graph.live if number < len(INITIAL_NODES) and number != X}
    for number, node in graph.live_nodes:
        if node.primitive.needs_batch or all(i in found for i in node.inputs):
            found.add(number)
    return found


def folded_start(graph: Graph, constant: set[int]) -> int:
    """The last node that is affine in x and that every path from x to the output goes through; at least x itself."""
    affine = {X}
    for number, node in graph.live_nodes:
        if number not in constant and is_affine(node, affine, constant):
            affine.add(number)
    return max(
        number for number in affine if number == X or X not in needed_nodes(graph, constant, number, graph.output)
    )


def is_affine(node: Node, affine: set[int], constant: set[int]) -> bool:
    """Whether a node is affine in x, given which of the nodes before it are."""
    if not all(i in affine or i in constant for i in node.inputs):
        return False
    if node.op == "mul":
        return any(i in constant for i in node.inputs)
    return node.op in ("neg", "add") or (node.op == "div" and node.inputs[1] in constant)


def folded_end(graph: Graph, constant: set[int], start: int) -> int:
    """The node behind which only constants are added or multiplied, which gamma and beta can take over."""
    end = graph.output
    while end != start and is_affine(graph.node(end), set(graph.live) - constant, constant):
        variable = [i for i in graph.node(end).inputs if i not in constant]
        if len(variable) > 1:
            break
        end = variable[0]
    return end


def needed_nodes(graph: Graph, constant: set[int], given: int, wanted: int) -> set[int]:
    """What must be computed for the node `wanted` where constants and the node `given` are there already."""
    needed: set[int] = set()
    waiting = [wanted]
    while waiting:
        number = waiting.pop()
        if number in needed or number in constant or number == given:
            continue
        needed.add(number)
        waiting.extend(graph.node(number).inputs if number >= len(INITIAL_NODES) else ())
    return needed


def nodes_cost(graph: Graph, constant: set[int], start: int, end: int, channels: int, pixels: int) -> int:
    varies_over_space = {X}
    for number, node in graph.live_nodes:
        if number not in constant and keeps_space(node) and varies_over_space & set(node.inputs):
            varies_over_space.add(number)

    def size(number: int) -> int:
        return channels * (pixels if number in varies_over_space else 1)

    cost = 0
    for number in needed_nodes(graph, constant, start, end) - {X}:
        node = graph.node(number)
        cost += node.primitive.cost * size(node.inputs[0] if node.primitive.aggregates else number)
    return cost


def keeps_space(node: Node) -> bool:
    """Whether the value varies over space where its inputs do."""
    index_set = node.primitive.index_set
    return index_set is None or "s" not in INDEX_SETS[index_set].axes
