"""Every layer that the paper names, with its formula and the place in the paper."""

from dataclasses import dataclass

from evonorm.foundation import Register, did_you_mean
from evonorm.graph.formula import FormulaError
from evonorm.graph.graph import Graph


@dataclass(frozen=True)
class Entry:
    """A named layer. `formula` is None where the language cannot say it.

    With a `normalization`, gamma and beta are applied to its value before the activation, as in max(z * gamma + beta,
    0), and it is what is left of the layer where a model has no activation; the formula leaves the affine out.
    Otherwise the affine follows the whole formula.
    """

    name: str
    formula: str | None
    source: str
    normalization: str | None = None

    @property
    def affine_inside(self) -> bool:
        return self.normalization is not None


_BN = "(x - mean_bwh(x)) / std_bwh(x)"
_GN = "(x - mean_whcg(x)) / std_whcg(x)"
_LN = "(x - mean_whc(x)) / std_whc(x)"
_FRN = "x / rms_wh(x)"
_PIXEL_NORM = "x / rms_c(x)"
_B0 = "x / max(std_bwh(x), v1 * x + std_wh(x))"
_S0 = "x * sigmoid(v1 * x) / std_whcg(x)"

_BASELINES = (
    Entry("bn-relu", f"max({_BN}, 0)", "Table 'ImageNet results of batch-dependent layers'", _BN),
    Entry("bn-silu", f"{_BN} * sigmoid(v1 * ({_BN}))", "the same table", _BN),
    Entry("gn-relu", f"max({_GN}, 0)", "Table 'ImageNet results of batch-independent layers'", _GN),
    Entry("gn-silu", f"{_GN} * sigmoid(v1 * ({_GN}))", "Table 'accuracies with 4 images/worker'", _GN),
    Entry("frn", f"max({_FRN}, v0)", "Table 'ImageNet results of batch-independent layers'", _FRN),
    Entry("ln-relu", f"max({_LN}, 0)", "Table 'BigGAN-deep results'", _LN),
    Entry(
        "pixelnorm-relu", f"max({_PIXEL_NORM}, 0)", "Table 'BigGAN-deep results': a moment over c alone", _PIXEL_NORM
    ),
)

_RANDOM_ROWS = (
    Entry("random", "sqrt(std_wh(sigmoid(abs(x))))", "row 'Random' of the batch-dependent table"),
    Entry("random-rej", "tanh(max(x, tanh(x)))", "row 'Random + rej'"),
    Entry("rs-rej", "max(x, 0) / rms_bwh(x)", "row 'RS + rej'"),
)

_EVONORMS = (
    Entry("evonorm-b0", _B0, "EvoNorm-B0"),
    Entry("evonorm-b1", "x / max(std_bwh(x), (x + 1) * rms_wh(x))", "EvoNorm-B1"),
    Entry("evonorm-b2", "x / max(std_bwh(x), rms_wh(x) - x)", "EvoNorm-B2"),
    Entry("evonorm-s0", _S0, "EvoNorm-S0"),
    Entry("evonorm-s1", "x * sigmoid(x) / std_whcg(x)", "EvoNorm-S1"),
    Entry("evonorm-s2", "x * sigmoid(x) / rms_whcg(x)", "EvoNorm-S2"),
)

_CHANGES_OF_B0 = (
    Entry("b0-no-v1x", "x / max(std_bwh(x), std_wh(x))", "Table 'Impact of structural changes': no v1 x"),
    Entry("b0-no-local", "x / std_bwh(x)", "the same table: no local term"),
    Entry("b0-no-global", "x / (v1 * x + std_wh(x))", "the same table: no global term"),
    Entry("b0-add", "x / (std_bwh(x) + (v1 * x + std_wh(x)))", "the same table: max becomes add"),
)

_B_TOP = (
    "x / max(std_bwh(x), (x + 1) * rms_wh(x))",
    "x / max(std_bwh(x), x + rms_whc(x))",
    "-(x * sigmoid(x) / std_bwh(x))",
    "x / max(std_bwh(x), x * rms_wh(x))",
    "x / max(std_bwh(x), rms_whc(x) - x)",
    _B0,
    "x / max(std_bwh(x), rms_wh(x) - x)",
    "x / max(std_bwh(x), x * rms_wh(x))",
    "x / max(std_bwh(x), x + std_wh(x))",
    "x / max(std_bwh(x), x + std_wh(x))",
)

_S_TOP = (
    "x * tanh(sigmoid(x)) / rms_whcg(x)",
    "x * sigmoid(x) / rms_whcg(x)",
    "x * sigmoid(x) / rms_whcg(x)",
    "x * sigmoid(x) / rms_whcg(x)",
    "x * sigmoid(x) / std_whcg(x)",
    _S0,
    "x * sigmoid(x) / std_whcg(x)",
    "x * sigmoid(x) / rms_whcg(x)",
    "x * sigmoid(x) / std_whcg(x)",
    "x / rms_whcg(x) * sigmoid(max(x, x / rms_whcg(x)))",
)

# The lists hold duplicates, as the paper prints them: its search had no test for equal functions.
_TOP_LISTS = tuple(
    Entry(f"{series}-top{rank}", formula, f"appendix 'Candidate layers without Reranking', {series.upper()} {rank}")
    for series, formulas in (("b", _B_TOP), ("s", _S_TOP))
    for rank, formula in enumerate(formulas, start=1)
)

CATALOG: Register[Entry] = Register(
    "layer", {entry.name: entry for entry in (*_BASELINES, *_RANDOM_ROWS, *_EVONORMS, *_CHANGES_OF_B0, *_TOP_LISTS)}
)


def catalog_spelling(layer: str) -> str:
    """A layer's name as the catalog has it, for instance of `EvoNorm-S0`; any other text as it is."""
    return layer.lower() if layer not in CATALOG and layer.lower() in CATALOG else layer


def graph_of(layer: str | Graph) -> Graph:
    """The graph of a layer that a person names: by its name in the catalog, by a formula, or as a Graph.

    Arguments:
        layer: a name of `evonorm.layer_names()` in any case, formula text, or a Graph, which is returned as it is.

    Raises ValueError for a name that is none (it says which is close) and for a layer that has no formula,
    FormulaError for text that cannot be read, TypeError for anything else.

    Example: assert evonorm.graph_of("evonorm-s0") == evonorm.graph_of("x * sigmoid(v1 * x) / std_whcg(x)")
    """
    if isinstance(layer, Graph):
        return layer
    if not isinstance(layer, str):
        raise TypeError(f"layer must be a name, formula text or a Graph, got {type(layer).__name__}.")
    entry = CATALOG.get(catalog_spelling(layer))
    if entry is None:
        return _parsed(layer)
    if entry.formula is None:
        raise ValueError(f"{layer} cannot be written in the formula language, so it has no graph.")
    return Graph.parse(entry.formula)


def _parsed(text: str) -> Graph:
    """The formula's graph; where the text looks like a misspelt name, the error says so instead."""
    try:
        return Graph.parse(text)
    except FormulaError as error:
        hint = did_you_mean(text, CATALOG, cutoff=0.7)
        looks_like_a_name = text.replace("-", "").replace("_", "").isalnum()
        if not hint and not looks_like_a_name:
            raise
        raise ValueError(
            f"there is no layer {text!r}.{hint} Known names: {', '.join(CATALOG)}."
            f" It is not a formula either: {error.problem}"
        ) from None
