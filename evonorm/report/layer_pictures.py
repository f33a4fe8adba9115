"""The pictures of one layer: typeset formula, drawing, response. Kept, since a live page shows the same ones again."""

import functools

import numpy as np

from evonorm.graph import Graph, simplify
from evonorm.pictures import Markup, element, formula_mathml, graph_svg
from evonorm.report.figures import response_figure
from evonorm.report.templates import render

KEPT_PICTURES = 300


@functools.lru_cache(KEPT_PICTURES)
def formula_picture(graph: Graph, affine: bool = False, display: bool = False) -> Markup:
    """The formula in MathML; a graph that is too long to typeset is shown as it is stored."""
    try:
        return formula_mathml(graph, affine, display)
    except ValueError:
        return element("code", {}, graph.encode())


@functools.lru_cache(KEPT_PICTURES)
def simplest(graph: Graph) -> Graph:
    """What is shown of a graph where its formula is: simplified, where that makes it shorter."""
    try:
        return min(graph, simplify(graph), key=lambda each: len(str(each)))
    except ValueError:
        return graph


@functools.lru_cache(KEPT_PICTURES)
def drawing(graph: Graph, dead: bool = False, affine: bool = True) -> Markup:
    return graph_svg(graph, dead, affine)


@functools.lru_cache(KEPT_PICTURES)
def response_picture(graph: Graph) -> Markup:
    return response_figure(graph).svg


def prepare() -> None:
    """Draws a layer now, so that what torch and numpy load at first use does not make the first page wait."""
    graph = Graph.parse("tanh(x) * sigmoid(x) / std_bwh(x)")
    layer_page("", graph, "")
    np.unique([0], return_counts=True)


def layer_page(title: str, graph: Graph, formula: str, affine_inside: bool = False) -> str:
    """A self-contained HTML page about one layer; see `Entry` of the catalog for `affine_inside`."""
    values = {
        "title": title,
        "formula": formula,
        "math": formula_picture(graph, not affine_inside, display=True),
        "drawing": drawing(graph, affine=not affine_inside),
        "affine_inside": affine_inside,
        "response": response_picture(graph),
    }
    return render("layer.html", values, served=False)
