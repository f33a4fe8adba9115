"""A formula as typeset mathematics in the paper's letters: MathML, which browsers show without any library."""

from evonorm.graph import PRODUCT, SUM, Graph, Piece, Style, Template, written_nodes
from evonorm.pictures.markup import Markup, element

MAX_MARKUP = 200_000  # a graph that shares much can grow by two with every node


def _bracketed(markup: str) -> str:
    return f"<mrow><mo>(</mo>{markup}<mo>)</mo></mrow>"


MATHML = Style(
    face=lambda primitive: primitive.mathml,
    initial=(
        "<mi>x</mi>",
        "<mn>0</mn>",
        "<msub><mi>v</mi><mn>0</mn></msub>",
        "<msub><mi>v</mi><mn>1</mn></msub>",
    ),
    one="<mn>1</mn>",
    difference=Template("<mrow>{0}<mo>−</mo>{1}</mrow>", SUM, (SUM, PRODUCT)),
    bracketed=_bracketed,
    longest=MAX_MARKUP,
    too_long="the formula is too long to typeset; use graph.encode() to show it.",
)
AFFINE = Template("{0}<mo>·</mo><mi>γ</mi><mo>+</mo><mi>β</mi>", SUM, (PRODUCT,))


def formula_mathml(graph: Graph, affine: bool = False, display: bool = True) -> Markup:
    """`<math>` of the live nodes; with `affine`, the final `γ + β` too. Raises ValueError if far too long."""
    formula: Piece = written_nodes(graph, MATHML)[graph.output]
    if affine:
        formula = AFFINE.fill([formula], _bracketed)
    attributes = {"xmlns": "http://www.w3.org/1998/Math/MathML", "display": "block" if display else "inline"}
    return element("math", attributes, Markup(formula.text))
