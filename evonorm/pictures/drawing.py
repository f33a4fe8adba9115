"""A graph as SVG, as in the paper's figure "Computation graph of EvoNorm-B0".

From top to bottom: initial nodes as bare letters, aggregations as boxes with their index set, element-wise functions as
pills, then the affine. Colours are presentation attributes, so that a file looks right anywhere, and every part has a
class, so that a page's style sheet can override them.
"""

from itertools import pairwise

from evonorm.graph import INDEX_SETS, INITIAL_NODES, ZERO, Graph
from evonorm.pictures.layout import Layout, lay_out
from evonorm.pictures.markup import Markup, element, joined
from evonorm.pictures.mathml import formula_mathml

ROW, NODE_HEIGHT, GAP, MARGIN = 62.0, 34.0, 22.0, 10.0
AFFINE_WIDTH = 60.0
PORT = 7.0  # half the distance of the two arrowheads at a node with two inputs ...
LETTERED_PORT = 13.0  # ... and at one where letters stand beside them
INK, MOMENT, FAINT = "#222222", "#0072B2", "#8a8a8a"
ON_PAPER = "background:#fff;color:#222;padding:8px;border-radius:6px"  # a notebook may be dark, these colours are not
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
LETTERS = ("x", "0", "v₀", "v₁")


def graph_svg(graph: Graph, dead: bool = False, affine: bool = True) -> Markup:
    """The drawing; with `dead`, the nodes that the output does not reach are there too, faint.

    `affine` is False for a layer that applies γ and β inside, which its formula leaves out.
    """
    numbers = set(graph.live)
    if dead:
        numbers |= set(range(len(INITIAL_NODES), graph.output + 1))
        numbers |= {i for n in numbers if n >= len(INITIAL_NODES) for i in graph.node(n).inputs}
    layout = lay_out(graph, numbers, {n: _width(graph, n) for n in numbers}, GAP)
    middle, _ = _centre(layout, graph.output)
    left, right = min(layout.left, middle - AFFINE_WIDTH / 2), max(layout.right, middle + AFFINE_WIDTH / 2)
    width, height = right - left + 2 * MARGIN, layout.height * ROW + NODE_HEIGHT / 2 + 2 * MARGIN
    edges = [_edges(graph, layout, n) for n in sorted(numbers)]
    nodes = [_node(graph, layout, n) for n in sorted(numbers)]
    style = {"font-family": FONT, "font-size": 14, "text-anchor": "middle", "fill": INK, "stroke-width": 1.4}
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "evonorm-graph",
            "role": "img",
            "viewBox": f"{left - MARGIN:.1f} {-NODE_HEIGHT / 2 - MARGIN:.1f} {width:.1f} {height:.1f}",
            "width": width,
            "height": height,
            "style": "max-width:100%;height:auto",
        },
        element("title", {}, f"computation graph of {_readable(graph)}"),
        element("g", {"class": "ink", **style}, *edges, *nodes, _end(graph, layout, affine)),
    )


def graph_html(graph: Graph) -> Markup:
    """The typeset formula above the drawing, for notebooks."""
    try:
        formula = formula_mathml(graph, affine=True)
    except ValueError:  # too long to read, but the drawing is not
        formula = Markup()
    return element(
        "div", {"class": "evonorm-layer", "style": f"display:inline-block;{ON_PAPER}"}, formula, graph_svg(graph)
    )


def _readable(graph: Graph) -> str:
    try:
        return str(graph)
    except ValueError:  # sub-expressions that share much can be too long to write out
        return graph.encode()


def _width(graph: Graph, number: int) -> float:
    if number < len(INITIAL_NODES):
        return 26.0
    primitive = graph.node(number).primitive
    if primitive.index_set:
        return max(56.0, 22.0 + 6.0 * len(INDEX_SETS[primitive.index_set].subscript))
    return max(34.0, 18.0 + 8.0 * len(primitive.symbol))


def _centre(layout: Layout, number: int) -> tuple[float, float]:
    return layout.x[number, layout.rows[number]], layout.rows[number] * ROW


def _node(graph: Graph, layout: Layout, number: int) -> Markup:
    x, y = _centre(layout, number)
    if number < len(INITIAL_NODES):
        letter = {"x": x, "y": y + 6, "font-size": 19, "font-style": None if number == ZERO else "italic"}
        return _group(graph, number, "initial", element("text", letter, LETTERS[number]))
    primitive, width = graph.node(number).primitive, _width(graph, number)
    box = {"x": x - width / 2, "y": y - NODE_HEIGHT / 2, "width": width, "height": NODE_HEIGHT}
    if primitive.moment is None:
        shape = element("rect", {**box, "rx": NODE_HEIGHT / 2, "fill": "none", "stroke": INK, "class": "outline"})
        text = element("text", {"x": x, "y": y + 5}, primitive.symbol)
        return _group(graph, number, "element-wise", shape, text)
    fill = {"fill": MOMENT, "fill-opacity": "0.14", "stroke": MOMENT, "class": "box"}
    return _group(
        graph,
        number,
        "moment",
        element("rect", {**box, "rx": 5, **fill}),
        element("text", {"x": x, "y": y - 1}, primitive.moment),
        element("text", {"x": x, "y": y + 12, "font-size": 11}, INDEX_SETS[str(primitive.index_set)].subscript),
    )


def _group(graph: Graph, number: int, kind: str, *shapes: Markup) -> Markup:
    dead = {} if number in graph.live else {"opacity": "0.35"}
    words = INITIAL_NODES[number] if number < len(INITIAL_NODES) else _words(graph, number)
    title = element("title", {}, f"{number}: {words}" + (" (dead)" if dead else ""))
    return element("g", {"class": f"node {kind}{' dead' if dead else ''}", **dead}, title, *shapes)


def _words(graph: Graph, number: int) -> str:
    node = graph.node(number)
    return f"{node.op}({', '.join(map(str, node.inputs))})"


def _edges(graph: Graph, layout: Layout, number: int) -> Markup:
    """The edges into a node, the one from further left to the left port; a and b tell numerator from denominator."""
    if number < len(INITIAL_NODES):
        return Markup()
    inputs = graph.node(number).inputs
    x, y = _centre(layout, number)
    ways = sorted((layout.x[layout.way(i, number)[-2]], place) for place, i in enumerate(inputs))
    lettered = graph.node(number).op == "div"
    apart = LETTERED_PORT if lettered else PORT
    ports = [x] if len(inputs) == 1 else [x - apart, x + apart]
    dead = {} if number in graph.live else {"opacity": "0.35", "stroke-dasharray": "3 3"}
    drawn = []
    for (origin, place), port in zip(ways, ports, strict=True):
        drawn.append(_edge(layout, inputs[place], number, port))
        if lettered:  # on the side that the edge does not come from
            drawn.append(_letter(port + (7.5 if origin < port else -7.5), y - NODE_HEIGHT / 2 - 5, "ab"[place]))
    line = {"class": f"edge{' dead' if dead else ''}", "fill": "none", "stroke": INK, **dead}
    return element("g", line, *drawn)


def _letter(x: float, y: float, letter: str) -> Markup:
    style = {"class": "note", "font-size": 11, "font-style": "italic", "fill": FAINT, "stroke": "none"}
    return element("text", {"x": x, "y": y, **style}, letter)


def _edge(layout: Layout, source: int, target: int, port: float) -> Markup:
    below = {True: 11.0, False: NODE_HEIGHT / 2}[source < len(INITIAL_NODES)]
    points = [(layout.x[spot], spot[1] * ROW) for spot in layout.way(source, target)]
    points[0] = (points[0][0], points[0][1] + below)
    tip = points[-1][1] - NODE_HEIGHT / 2 - 1
    points[-1] = (port, tip - 3)
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for ((x0, y0), (x1, y1)), (lean0, lean1) in zip(pairwise(points), pairwise(_leans(points)), strict=True):
        bend = (y1 - y0) / 2
        before, after = x0 + bend * lean0, x1 - bend * lean1
        path += f" C{before:.1f} {y0 + bend:.1f} {after:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
    head = f"M{port - 3.5:.1f} {tip - 6:.1f} L{port:.1f} {tip:.1f} L{port + 3.5:.1f} {tip - 6:.1f}"
    return joined(element("path", {"d": path}), element("path", {"d": head}))


def _leans(points: list[tuple[float, float]]) -> list[float]:
    """How far an edge leans at each point, in x for each y: upright at its ends, where it turns, and where it waits.

    In between the gentler of its two pieces, so that a long edge runs through its spots in one sweep.
    """
    slopes = [(x1 - x0) / (y1 - y0) for (x0, y0), (x1, y1) in pairwise(points)]
    inner = [min(a, b, key=abs) if a * b > 0 else 0.0 for a, b in pairwise(slopes)]
    return [0.0, *inner, 0.0]


def _end(graph: Graph, layout: Layout, affine: bool) -> Markup:
    """An arrow out of the output node, and the affine that follows."""
    x, y = _centre(layout, graph.output)
    start, end = y + NODE_HEIGHT / 2, y + ROW - 16
    arrow = (
        f"M{x:.1f} {start:.1f} V{end:.1f} M{x - 3.5:.1f} {end - 6:.1f} L{x:.1f} {end:.1f} L{x + 3.5:.1f} {end - 6:.1f}"
    )
    text = {"x": x, "y": end + 16, "font-style": "italic", "class": "output"}
    line = {"d": arrow, "fill": "none", "stroke": INK, "class": "edge"}
    return joined(element("path", line), element("text", text, "· γ + β" if affine else "output"))
