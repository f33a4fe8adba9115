"""A formula as typeset mathematics in the paper's letters: MathML, which browsers show without any library."""

from typing import NamedTuple

from evonorm.graph import INDEX_SETS, INITIAL_NODES, ZERO, Graph, Node
from evonorm.pictures.markup import Markup, element, joined

SUM, PRODUCT, MINUS, ATOM = range(4)
MAX_MARKUP = 200_000  # a graph that shares much can grow by two with every node

NAMED = {"sigmoid": "σ", "tanh": "tanh", "log": "slog", "sqrt": "ssqrt", "max": "max"}  # slog, ssqrt: the signed ones


class Piece(NamedTuple):
    """A typeset node and how tightly it binds: brackets go around what binds less than its place asks for."""

    markup: Markup
    binding: int


def formula_mathml(graph: Graph, affine: bool = False, display: bool = True) -> Markup:
    """`<math>` of the live nodes; with `affine`, the final `γ + β` too. Raises ValueError if far too long."""
    pieces = {number: Piece(piece, ATOM) for number, piece in enumerate(_initial())}
    for number, node in graph.live_nodes:
        pieces[number] = _piece(graph, node, pieces)
        if len(pieces[number].markup) > MAX_MARKUP:
            raise ValueError("the formula is too long to typeset; use graph.encode() to show it.")
    formula = pieces[graph.output]
    if affine:
        times = joined(_wrapped(formula, PRODUCT), _symbol("·"), _name("γ"))
        formula = Piece(joined(times, _symbol("+"), _name("β")), SUM)
    attributes = {"xmlns": "http://www.w3.org/1998/Math/MathML", "display": "block" if display else "inline"}
    return element("math", attributes, formula.markup)


def _initial() -> tuple[Markup, ...]:
    v0, v1 = (element("msub", {}, _name("v"), element("mn", {}, digit)) for digit in "01")
    return _name("x"), element("mn", {}, "0"), v0, v1


def _name(text: str) -> Markup:
    return element("mi", {}, text)


def _symbol(text: str) -> Markup:
    return element("mo", {}, text)


def _row(*parts: Markup) -> Markup:
    return element("mrow", {}, *parts)


def _bracketed(*parts: Markup) -> Markup:
    return _row(_symbol("("), *parts, _symbol(")"))


def _wrapped(piece: Piece, at_least: int) -> Markup:
    return piece.markup if piece.binding >= at_least else _bracketed(piece.markup)


def _piece(graph: Graph, node: Node, pieces: dict[int, Piece]) -> Piece:
    inputs = [pieces[i] for i in node.inputs]
    first = inputs[0].markup
    if node == Node("exp", (ZERO,)):
        return Piece(element("mn", {}, "1"), ATOM)
    if node.op == "neg":
        return Piece(_row(_symbol("−"), _wrapped(inputs[0], MINUS)), MINUS)
    if node.op == "add":
        return _sum(graph, node, pieces)
    if node.op == "mul":
        factors = _wrapped(inputs[0], PRODUCT), _symbol("\u2062"), _wrapped(inputs[1], ATOM)
        return Piece(_row(*factors), PRODUCT)
    if node.op == "div":
        return Piece(element("mfrac", {}, _row(first), _row(inputs[1].markup)), ATOM)
    if node.op == "exp":
        return Piece(element("msup", {}, _name("e"), _row(first)), ATOM)
    if node.op == "abs":
        return Piece(_row(_symbol("|"), first, _symbol("|")), ATOM)
    if node.op == "square":
        return Piece(_squared(first, node.inputs[0]), ATOM)
    if node.primitive.moment:
        return Piece(_moment(node, first), ATOM)
    arguments = [first] if len(inputs) == 1 else [first, _symbol(","), inputs[1].markup]
    return Piece(_row(_name(NAMED[node.op]), _symbol("\u2061"), _bracketed(*arguments)), ATOM)


def _sum(graph: Graph, node: Node, pieces: dict[int, Piece]) -> Piece:
    left, right = node.inputs
    negated = right >= len(INITIAL_NODES) and graph.node(right).op == "neg"
    sign, other = ("−", graph.node(right).inputs[0]) if negated else ("+", right)
    return Piece(_row(_wrapped(pieces[left], SUM), _symbol(sign), _wrapped(pieces[other], PRODUCT)), SUM)


def _squared(inside: Markup, number: int) -> Markup:
    base = inside if number < len(INITIAL_NODES) else _bracketed(inside)
    return element("msup", {}, _row(base), element("mn", {}, "2"))


def _moment(node: Node, inside: Markup) -> Markup:
    """μ for the mean, the root of μ of the square for rms, the root of s² for std, with the index set below."""
    index = element("mtext", {}, INDEX_SETS[str(node.primitive.index_set)])
    if node.primitive.moment == "std":
        variance = element("msubsup", {}, _name("s"), index, element("mn", {}, "2"))
        return element("msqrt", {}, variance, _bracketed(inside))
    mean = element("msub", {}, _name("μ"), index)
    if node.primitive.moment == "mean":
        return _row(mean, _bracketed(inside))
    return element("msqrt", {}, mean, _bracketed(_squared(inside, node.inputs[0])))
