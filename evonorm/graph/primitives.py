"""The primitive functions that graphs are made of: the paper's Table 1, and those that others register.

A *row* is one line of the paper's table; the generator first draws a row uniformly and then, for a moment, the index
set uniformly. A *primitive* is what a node holds: an element-wise function, or a moment over one index set.
"""

import ast
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from html import escape

from evonorm.foundation import Register, load_plugins, unknown_name
from evonorm.graph.elementwise import ELEMENTWISE
from evonorm.graph.moments import AXES, MOMENTS, PAPERS_SETS, PIXEL, IndexSet
from evonorm.graph.primitive import LAWS, Array, Primitive, call_mathml, call_text
from evonorm.graph.templates import ATOM, Template

RESERVED = ("x", "0", "1", "v0", "v1")

ROWS: tuple[tuple[Primitive, ...], ...] = (
    *((each,) for each in ELEMENTWISE),
    *(tuple(moment.over(index_set) for index_set in PAPERS_SETS) for moment in MOMENTS),
)
INDEX_SETS: Register[IndexSet] = Register("index set", {each.letters: each for each in (*PAPERS_SETS, PIXEL)})
PRIMITIVES: Register[Primitive] = Register(
    "primitive",
    {each.name: each for row in (*ROWS, tuple(moment.over(PIXEL) for moment in MOMENTS)) for each in row},
)


def searched_rows(batch_ops: bool = True) -> tuple[tuple[Primitive, ...], ...]:
    """What random graphs and mutations draw from: the paper's rows, and whatever was registered as `searched`.

    Without `batch_ops` no moment over the batch.
    """
    load_plugins()  # they may add some
    return _searched_rows(PRIMITIVES.changes, batch_ops)


@lru_cache(maxsize=2)
def _searched_rows(changes: int, batch_ops: bool) -> tuple[tuple[Primitive, ...], ...]:
    if not batch_ops:
        every = _searched_rows(changes, batch_ops=True)
        return tuple(tuple(each for each in row if not each.needs_batch) for row in every)
    known = {each.name for row in ROWS for each in row}
    added = [each for each in PRIMITIVES.values() if each.searched and each.name not in known]
    moments = (
        (*row, *(each for each in added if each.moment == row[0].moment)) if row[0].aggregates else row for row in ROWS
    )
    return (*moments, *((each,) for each in added if not each.aggregates))


def register_primitive(
    name: str,
    torch: str,
    numpy: Callable[..., Array],
    numpy_backward: Callable[..., tuple[Array, ...]],
    *,
    functions: Sequence[str] = (),
    laws: Collection[str] = (),
    symbol: str | None = None,
    latex: str | None = None,
    mathml: str | None = None,
    cost: int = 1,
    searched: bool = False,
) -> Primitive:
    r"""Adds an element-wise function of one or two inputs to the language of formulas.

    Formulas write it as `name(...)`; it can be parsed, printed, drawn, run, trained, fingerprinted, simplified, counted
    and exported. The native kernel has no instruction for it: layers that use it run on plain torch.

    Arguments:
        name: a Python identifier that no other primitive has.
        torch: its value as a Python expression of torch in which `{0}` and `{1}` stand for the inputs.
        numpy: the same function on arrays, for the checks that need no torch.
        numpy_backward: (g, y, *inputs) -> a tuple with a gradient for each input, where y is the value and g its
            gradient.
        functions: source of functions (`def ...`) that `torch` calls; they may use `torch` and `Tensor`.
        laws: what holds for every finite input, for simplification: any of odd, even, zero_at_zero, never_negative,
            keeps_sign (not negative where no input is) and commutative.
        symbol: what drawings and typeset formulas show; by default the name.
        latex, mathml: templates with `{0}` and `{1}`; by default the symbol applied to the inputs.
        cost: multiply-adds for each element.
        searched: True lets random graphs and mutations draw it, which is then no longer the paper's search space.

    Example:
        evonorm.register_primitive(
            "softsign",
            torch="{0} / (1 + torch.abs({0}))",
            numpy=lambda a: a / (1 + np.abs(a)),
            numpy_backward=lambda g, y, a: (g / np.square(1 + np.abs(a)),),
            laws=("odd", "zero_at_zero", "keeps_sign"),
        )
        evonorm.create_layer("softsign(x) / rms_whcg(x)", channels=64)
    """
    _check_name(name, "primitive", "softsign")
    arity = 2 if "{1}" in torch else 1
    _check_source(name, torch, functions)
    _check_laws(name, arity, laws)
    for face, function in (("numpy", numpy), ("numpy_backward", numpy_backward)):
        if not callable(function):
            raise TypeError(f"{face} of {name} must be a function of arrays, got {type(function).__name__}.")
    symbol = name if symbol is None else symbol
    primitive = Primitive(
        name=name,
        arity=arity,
        formula=Template(call_text(name, arity)),
        latex=Template(latex or _latex_call(symbol, arity)),
        mathml=Template(mathml or call_mathml(escape(symbol), arity)),
        symbol=symbol,
        torch=_torch_template(torch),
        functions=tuple(functions),
        numpy=numpy,
        numpy_backward=numpy_backward,
        cost=cost,
        laws=frozenset(laws),
        searched=searched,
    )
    return PRIMITIVES.add(name, primitive)


def register_index_set(letters: str, axes: str, subscript: str | None = None, searched: bool = False) -> IndexSet:
    """Adds an index set, and with it the moments `mean_…`, `rms_…` and `std_…` over it.

    Arguments:
        letters: its name in formulas, `"bwhc"` for `mean_bwhc(x)`.
        axes: what it averages over, any of b (samples), s (space), c (channels of one group) and g (groups);
            `"cg"` is all channels.
        subscript: how it is typeset; by default the letters with commas between them.
        searched: True lets random graphs and mutations draw these moments, which is no longer the paper's space.

    Example:
        evonorm.register_index_set("bwhc", axes="bscg")
        evonorm.create_layer("x / rms_bwhc(x)", channels=64)
    """
    _check_name(letters, "index set", "bwhc")
    _check_axes(axes)
    subscript = ",".join(letters) if subscript is None else subscript
    index_set = INDEX_SETS.add(letters, IndexSet(letters, subscript, frozenset(axes), searched=searched))
    for moment in MOMENTS:
        PRIMITIVES.add(f"{moment.name}_{letters}", moment.over(index_set))
    return index_set


def _check_name(name: str, what: str, example: str) -> None:
    if not (isinstance(name, str) and name.isascii() and name.isidentifier() and name not in RESERVED):
        raise ValueError(f"a {what} is named by letters, digits and _ such as {example!r}, got {name!r}.")


def _check_source(name: str, torch: str, functions: Sequence[str]) -> None:
    if "{0}" not in torch:
        raise ValueError(f"torch of {name} must be an expression of {{0}} such as 'torch.erf({{0}})', got {torch!r}.")
    try:
        compile(torch.replace("{0}", "a").replace("{1}", "b"), name, "eval")
        for function in functions:
            _check_function(name, function)
    except SyntaxError as error:
        raise ValueError(f"the torch source of {name} is not Python: {error}.") from error


def _check_function(name: str, source: str) -> None:
    definitions = ast.parse(source).body
    if len(definitions) != 1 or not isinstance(definitions[0], ast.FunctionDef):
        raise ValueError(f"each of the functions of {name} must be the source of one `def`, got {source!r}.")


def _check_laws(name: str, arity: int, laws: Collection[str]) -> None:
    if isinstance(laws, str):
        raise TypeError(f"laws of {name} must be a collection of words, got the text {laws!r}. Write ({laws!r},).")
    for law in laws:
        if law not in LAWS:
            raise unknown_name("law", law, LAWS)
    if arity == 2 and (wrong := set(laws) & {"odd", "even", "zero_at_zero"}):
        raise ValueError(f"{', '.join(sorted(wrong))} is for functions of one input, {name} has two.")


def _check_axes(axes: str) -> None:
    chosen = set(axes)
    if not chosen or not chosen <= set(AXES):
        meanings = ", ".join(f"{letter} ({what})" for letter, what in AXES.items())
        raise ValueError(f"axes must be letters of {meanings}, got {axes!r}.")
    if "g" in chosen and "c" not in chosen:
        raise ValueError(f"an index set over groups takes their channels as well ('cg' is all channels), got {axes!r}.")
    if "b" in chosen and "s" not in chosen:
        raise ValueError(
            "an index set over samples averages over space as well, since a moving moment is one number per channel:"
            f" add 's' to {axes!r}."
        )


def _latex_call(symbol: str, arity: int) -> str:
    name, inputs = symbol.replace("_", r"\_"), ", ".join(("{0}", "{1}")[:arity])
    return rf"\mathrm{{{name}}}\left({inputs}\right)"


def _torch_template(text: str) -> Template:
    """A plain call stands as it is; in any other expression brackets keep inputs and value together."""
    if re.fullmatch(r"[\w.]+\(\{0\}(, \{1\})?\)", text):
        return Template(text)
    return Template(f"({text})", places=(ATOM, ATOM))
