"""Moments over index sets: mean, root of the mean square and standard deviation, as the paper's Table 1 has them.

An index set says what is averaged over; how torch, the probes and the exporter reduce follows from that.
"""

from dataclasses import dataclass
from html import escape

from evonorm.graph.primitive import Primitive, call_text
from evonorm.graph.templates import LETTER, Template

AXES = {"b": "samples", "s": "space", "c": "channels of one group", "g": "groups of channels"}


@dataclass(frozen=True)
class IndexSet:
    """What a moment averages over.

    Attributes:
        letters: its name in formulas, as in `mean_bwh`; w and h stand for every spatial axis (none to three of them).
        subscript: how it is typeset, such as `w,h,c/g`.
        axes: letters of `AXES`.
        native: whether the native kernel reduces over it.
        searched: whether random graphs and mutations draw it.
    """

    letters: str
    subscript: str
    axes: frozenset[str]
    native: bool = False
    searched: bool = False

    @property
    def needs_batch(self) -> bool:
        return "b" in self.axes

    @property
    def splits_channels(self) -> bool:
        """Whether it averages over the channels of each group by itself."""
        return "c" in self.axes and "g" not in self.axes


PAPERS_SETS = (
    IndexSet("bwh", "b,w,h", frozenset("bs"), native=True, searched=True),
    IndexSet("whc", "w,h,c", frozenset("scg"), native=True, searched=True),
    IndexSet("wh", "w,h", frozenset("s"), native=True, searched=True),
    IndexSet("whcg", "w,h,c/g", frozenset("sc"), native=True, searched=True),
)
PIXEL = IndexSet("c", "c", frozenset("cg"))  # PixelNorm's, which the paper compares with but does not search


@dataclass(frozen=True)
class Moment:
    """A kind of moment; in its texts INDEX stands for the index set."""

    name: str
    latex: Template
    mathml: Template
    cost: int  # multiply-adds for each element that it reads
    laws: frozenset[str]

    def over(self, index_set: IndexSet) -> Primitive:
        """The primitive that takes this moment over an index set."""
        name = f"{self.name}_{index_set.letters}"
        return Primitive(
            name=name,
            arity=1,
            formula=Template(call_text(name, 1)),
            latex=_with_index(self.latex, index_set.subscript),
            mathml=_with_index(self.mathml, f"<mtext>{escape(index_set.subscript)}</mtext>"),
            symbol=self.name,
            cost=self.cost,
            laws=self.laws,
            moment=self.name,
            index_set=index_set.letters,
            needs_batch=index_set.needs_batch,
            searched=index_set.searched,
        )


def _with_index(template: Template, index: str) -> Template:
    return Template(template.text.replace("INDEX", index), template.binding, template.places)


MEAN = Moment(
    "mean",
    Template(r"\mu_{INDEX}\left({0}\right)"),
    Template("<mrow><msub><mi>μ</mi>INDEX</msub><mrow><mo>(</mo>{0}<mo>)</mo></mrow></mrow>"),
    cost=1,
    laws=frozenset({"odd", "keeps_sign"}),
)
RMS = Moment(
    "rms",
    Template(r"\sqrt{\mu_{INDEX}\left({0}^2\right)}", places=(LETTER,)),
    Template(
        "<msqrt><msub><mi>μ</mi>INDEX</msub>"
        "<mrow><mo>(</mo><msup><mrow>{0}</mrow><mn>2</mn></msup><mo>)</mo></mrow></msqrt>",
        places=(LETTER,),
    ),
    cost=1,
    laws=frozenset({"even", "never_negative"}),
)
STD = Moment(
    "std",
    Template(r"\sqrt{s^2_{INDEX}\left({0}\right)}"),
    Template("<msqrt><msubsup><mi>s</mi>INDEX<mn>2</mn></msubsup><mrow><mo>(</mo>{0}<mo>)</mo></mrow></msqrt>"),
    cost=2,  # a sum and a sum of squares
    laws=frozenset({"even", "never_negative"}),
)
MOMENTS = (MEAN, RMS, STD)
