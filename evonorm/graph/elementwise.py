"""The twelve element-wise functions of the paper's Table 1, with all their faces.

log and sqrt are the signed ones, sign(a) ln|a| and sign(a) sqrt|a|; a divisor is pushed away from zero.
"""

import math

import numpy as np

from evonorm.graph.numerics import LOG_SQRT_EPS, SMALLEST_DIVISOR
from evonorm.graph.primitive import Array, Primitive, call_mathml, call_text, unless_cancelled
from evonorm.graph.templates import ATOM, LETTER, MINUS, PRODUCT, SUM, Template

DIVIDE = f'''
def divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b with b kept away from zero, which counts as positive."""
    return a / torch.where(b >= 0, b.clamp(min={SMALLEST_DIVISOR}), b.clamp(max=-{SMALLEST_DIVISOR}))
'''
SIGNED_LOG = f"""
def signed_log(a: Tensor) -> Tensor:
    return torch.sign(a) * torch.log(torch.abs(a) + {LOG_SQRT_EPS})
"""
SIGNED_SQRT = f"""
def signed_sqrt(a: Tensor) -> Tensor:
    return torch.sign(a) * torch.sqrt(torch.abs(a) + {LOG_SQRT_EPS})
"""


def divisor(b: Array) -> Array:
    return np.copysign(np.maximum(np.abs(b), SMALLEST_DIVISOR), b + 0.0)  # -0 + 0 is 0, which counts as positive


def _add(a: Array, b: Array) -> Array:
    return unless_cancelled(a + b, np.abs(a))


def _signed_log(a: Array) -> Array:
    return np.sign(a) * np.log(np.abs(a) + LOG_SQRT_EPS)


def _signed_sqrt(a: Array) -> Array:
    return np.sign(a) * np.sqrt(np.abs(a) + LOG_SQRT_EPS)


def _div_backward(g: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:  # noqa: ARG001 (one face for all)
    to_a = g / divisor(b)
    return to_a, np.where(np.abs(b) >= SMALLEST_DIVISOR, -to_a * y, 0)


def _max_backward(g: Array, y: Array, a: Array, b: Array) -> tuple[Array, Array]:  # noqa: ARG001
    share = 0.5 * (a > b) + 0.5 * (a >= b)  # a tie is split in halves
    return g * share, g * (1 - share)


def _least_product(a: float, b: float) -> float:
    return a * b if min(a, b) >= 0 and math.inf not in (a, b) else -math.inf


ADD = Primitive(
    name="add",
    arity=2,
    formula=Template("{0} + {1}", SUM, (SUM, PRODUCT)),
    latex=Template("{0} + {1}", SUM, (SUM, PRODUCT)),
    mathml=Template("<mrow>{0}<mo>+</mo>{1}</mrow>", SUM, (SUM, PRODUCT)),
    symbol="+",
    torch=Template("{0} + {1}", SUM, (SUM, PRODUCT)),
    numpy=_add,
    numpy_backward=lambda g, y, a, b: (g, g),  # noqa: ARG005
    laws=frozenset({"commutative", "keeps_sign"}),
    adjoint=(("copy", ""), ("copy", "")),
    lower=lambda a, b: a + b,
    searched=True,
)
MUL = Primitive(
    name="mul",
    arity=2,
    formula=Template("{0} * {1}", PRODUCT, (PRODUCT, MINUS)),
    latex=Template("{0} {1}", PRODUCT, (PRODUCT, ATOM)),  # "a -b" would read as a difference
    mathml=Template("<mrow>{0}<mo>\u2062</mo>{1}</mrow>", PRODUCT, (PRODUCT, ATOM)),
    symbol="×",
    torch=Template("{0} * {1}", PRODUCT, (PRODUCT, MINUS)),
    numpy=np.multiply,
    numpy_backward=lambda g, y, a, b: (g * b, g * a),  # noqa: ARG005
    laws=frozenset({"commutative", "keeps_sign"}),
    adjoint=(("mul", "b"), ("mul", "a")),
    lower=_least_product,
    searched=True,
)
DIV = Primitive(
    name="div",
    arity=2,
    formula=Template("{0} / {1}", PRODUCT, (PRODUCT, MINUS)),
    latex=Template(r"\frac{{0}}{{1}}"),
    mathml=Template("<mfrac><mrow>{0}</mrow><mrow>{1}</mrow></mfrac>"),
    symbol="a / b",
    torch=Template("divide({0}, {1})"),
    functions=(DIVIDE,),
    numpy=lambda a, b: a / divisor(b),
    numpy_backward=_div_backward,
    laws=frozenset({"keeps_sign"}),
    adjoint=(("div", "b"), ("div_grad_guarded", "vb")),
    searched=True,
)
MAX = Primitive(
    name="max",
    arity=2,
    formula=Template("max({0}, {1})"),
    latex=Template(r"\max\left({0}, {1}\right)"),
    mathml=Template(call_mathml("max", 2)),
    symbol="max",
    torch=Template("torch.maximum({0}, {1})"),  # splits the gradient at ties in halves, NaN from either side
    numpy=np.maximum,
    numpy_backward=_max_backward,
    laws=frozenset({"commutative", "keeps_sign"}),
    adjoint=(("max_grad", "ab"), ("max_grad", "ba")),
    lower=max,
    searched=True,
)
NEG = Primitive(
    name="neg",
    arity=1,
    formula=Template("-{0}", MINUS, (MINUS,)),
    latex=Template("-{0}", MINUS, (MINUS,)),
    mathml=Template("<mrow><mo>−</mo>{0}</mrow>", MINUS, (MINUS,)),
    symbol="−",
    torch=Template("-{0}", MINUS, (MINUS,)),
    numpy=np.negative,
    numpy_backward=lambda g, y, a: (-g,),  # noqa: ARG005
    laws=frozenset({"odd", "zero_at_zero"}),
    adjoint=(("neg", ""),),
    searched=True,
)
SIGMOID = Primitive(
    name="sigmoid",
    arity=1,
    formula=Template(call_text("sigmoid", 1)),
    latex=Template(r"\sigma\left({0}\right)"),
    mathml=Template(call_mathml("σ", 1)),
    symbol="σ",
    torch=Template("torch.sigmoid({0})"),
    numpy=lambda a: 1 / (1 + np.exp(-a)),
    numpy_backward=lambda g, y, a: (g * y * (1 - y),),  # noqa: ARG005
    laws=frozenset({"never_negative"}),
    adjoint=(("sigmoid_grad", "v"),),
    searched=True,
)
TANH = Primitive(
    name="tanh",
    arity=1,
    formula=Template(call_text("tanh", 1)),
    latex=Template(r"\tanh\left({0}\right)"),
    mathml=Template(call_mathml("tanh", 1)),
    symbol="tanh",
    torch=Template("torch.tanh({0})"),
    numpy=np.tanh,
    numpy_backward=lambda g, y, a: (g * (1 - y * y),),  # noqa: ARG005
    laws=frozenset({"odd", "zero_at_zero", "keeps_sign"}),
    adjoint=(("tanh_grad", "v"),),
    searched=True,
)
EXP = Primitive(
    name="exp",
    arity=1,
    formula=Template(call_text("exp", 1)),
    latex=Template("e^{{0}}"),
    mathml=Template("<msup><mi>e</mi><mrow>{0}</mrow></msup>"),
    symbol="exp",
    torch=Template("torch.exp({0})"),
    numpy=np.exp,
    numpy_backward=lambda g, y, a: (g * y,),  # noqa: ARG005
    laws=frozenset({"never_negative"}),
    adjoint=(("mul", "v"),),
    searched=True,
)
LOG = Primitive(
    name="log",
    arity=1,
    formula=Template(call_text("log", 1)),
    latex=Template(r"\mathrm{slog}\left({0}\right)"),
    mathml=Template(call_mathml("slog", 1)),
    symbol="slog",
    torch=Template("signed_log({0})"),
    functions=(SIGNED_LOG,),
    numpy=_signed_log,
    numpy_backward=lambda g, y, a: (g * np.square(np.sign(a)) / (np.abs(a) + LOG_SQRT_EPS),),  # noqa: ARG005
    laws=frozenset({"odd", "zero_at_zero"}),
    adjoint=(("log_grad", "a"),),
    searched=True,
)
ABS = Primitive(
    name="abs",
    arity=1,
    formula=Template(call_text("abs", 1)),
    latex=Template(r"\left|{0}\right|"),
    mathml=Template("<mrow><mo>|</mo>{0}<mo>|</mo></mrow>"),
    symbol="|·|",
    torch=Template("torch.abs({0})"),
    numpy=np.abs,
    numpy_backward=lambda g, y, a: (g * np.sign(a),),  # noqa: ARG005
    laws=frozenset({"even", "zero_at_zero", "never_negative"}),
    adjoint=(("abs_grad", "a"),),
    searched=True,
)
SQUARE = Primitive(
    name="square",
    arity=1,
    formula=Template(call_text("square", 1)),
    latex=Template("{0}^2", places=(LETTER,)),
    mathml=Template("<msup><mrow>{0}</mrow><mn>2</mn></msup>", places=(LETTER,)),
    symbol="(·)²",
    torch=Template("torch.square({0})"),
    numpy=np.square,
    numpy_backward=lambda g, y, a: (2 * g * a,),  # noqa: ARG005
    laws=frozenset({"even", "zero_at_zero", "never_negative"}),
    adjoint=(("square_grad", "a"),),
    searched=True,
)
SQRT = Primitive(
    name="sqrt",
    arity=1,
    formula=Template(call_text("sqrt", 1)),
    latex=Template(r"\mathrm{ssqrt}\left({0}\right)"),
    mathml=Template(call_mathml("ssqrt", 1)),
    symbol="s√",
    torch=Template("signed_sqrt({0})"),
    functions=(SIGNED_SQRT,),
    numpy=_signed_sqrt,
    numpy_backward=lambda g, y, a: (g * np.square(np.sign(a)) / (2 * np.sqrt(np.abs(a) + LOG_SQRT_EPS)),),  # noqa: ARG005
    laws=frozenset({"odd", "zero_at_zero", "keeps_sign"}),
    adjoint=(("sqrt_grad", "v"),),
    searched=True,
)
ELEMENTWISE = (ADD, MUL, DIV, MAX, NEG, SIGMOID, TANH, EXP, LOG, ABS, SQUARE, SQRT)
