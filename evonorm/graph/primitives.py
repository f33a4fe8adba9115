"""The search space's primitive functions as one table (paper, Table 1: search space primitives).

A *row* is one line of the paper's table; the generator first draws a row uniformly and then, for a moment, the index
set uniformly. A *primitive* is what a node holds: an element-wise function, or a moment over one index set.
"""

from dataclasses import dataclass

# w,h stand for every spatial axis (none, one, two or three of them), c/g for the channels of one group.
INDEX_SETS = {"bwh": "b,w,h", "whc": "w,h,c", "wh": "w,h", "whcg": "w,h,c/g"}


@dataclass(frozen=True)
class Primitive:
    """One function that a node can apply. `{0}` and `{1}` stand for its inputs in both texts."""

    name: str
    arity: int
    formula: str
    latex: str
    moment: str | None = None  # "mean", "rms" or "std" if it aggregates ...
    index_set: str | None = None  # ... over this index set

    @property
    def aggregates(self) -> bool:
        return self.moment is not None

    @property
    def needs_batch(self) -> bool:
        """Whether the value of one sample depends on the others (then moving moments serve in eval mode)."""
        return self.index_set == "bwh"


def _moment(moment: str, latex: str) -> tuple[Primitive, ...]:
    return tuple(
        Primitive(
            f"{moment}_{letters}", 1, f"{moment}_{letters}({{0}})", latex.replace("I", subscript), moment, letters
        )
        for letters, subscript in INDEX_SETS.items()
    )


# name, arity, formula text, LaTeX. log and sqrt are the signed ones: sign(a) ln|a| and sign(a) sqrt|a|.
ROWS: tuple[tuple[Primitive, ...], ...] = (
    (Primitive("add", 2, "{0} + {1}", "{0} + {1}"),),
    (Primitive("mul", 2, "{0} * {1}", "{0} {1}"),),
    (Primitive("div", 2, "{0} / {1}", r"\frac{{{0}}}{{{1}}}"),),
    (Primitive("max", 2, "max({0}, {1})", r"\max\left({0}, {1}\right)"),),
    (Primitive("neg", 1, "-{0}", "-{0}"),),
    (Primitive("sigmoid", 1, "sigmoid({0})", r"\sigma\left({0}\right)"),),
    (Primitive("tanh", 1, "tanh({0})", r"\tanh\left({0}\right)"),),
    (Primitive("exp", 1, "exp({0})", r"e^{{{0}}}"),),
    (Primitive("log", 1, "log({0})", r"\mathrm{{slog}}\left({0}\right)"),),
    (Primitive("abs", 1, "abs({0})", r"\left|{0}\right|"),),
    (Primitive("square", 1, "square({0})", r"\left({0}\right)^2"),),
    (Primitive("sqrt", 1, "sqrt({0})", r"\mathrm{{ssqrt}}\left({0}\right)"),),
    _moment("mean", r"\mu_{{I}}\left({0}\right)"),
    _moment("rms", r"\sqrt{{\mu_{{I}}\left(\left({0}\right)^2\right)}}"),
    _moment("std", r"\sqrt{{s^2_{{I}}\left({0}\right)}}"),
)

PRIMITIVES: dict[str, Primitive] = {primitive.name: primitive for row in ROWS for primitive in row}
