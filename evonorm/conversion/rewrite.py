"""A class whose methods are as they were, but for some calls: those of activations that a layer has taken over.

The source of a method is parsed, each named call is replaced by its argument, and the result is compiled with the
globals and the closure of the original. Control flow, defaults and `super()` stay what they are; nothing is traced.
Line numbers stay, too, so errors still point into the file.
"""

import ast
import hashlib
import inspect
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from torch import nn

Span = tuple[int, int, int, int]  # first line, last line, first column, last column, as in `code.co_positions()`


class CannotRewriteError(Exception):
    """A method cannot be written anew: its source is not there, or is not what runs."""


@dataclass(frozen=True)
class Edit:
    """Calls to leave out of a method. `digest` tells whether its source is still the one in which they were found."""

    method: str
    spans: tuple[Span, ...]
    digest: str


def edit_of(cls: type[nn.Module], method: str, spans: Sequence[Span]) -> Edit:
    """The edit that leaves these calls out, beside those that are left out already.

    Raises CannotRewriteError where it could not be done.
    """
    original, earlier = origin(cls)
    known = [span for edit in earlier if edit.method == method for span in edit.spans]
    return _checked_edit(_function(original, method), method, tuple(sorted({*known, *spans})))


@cache
def _checked_edit(function: FunctionType, method: str, spans: tuple[Span, ...]) -> Edit:
    _check_source_is_what_runs(function)
    edit = Edit(method, spans, _digest(function))
    _edited(function, edit)
    return edit


def leave_out_calls(module: nn.Module, edits: Sequence[Edit]) -> None:
    """Gives the module a class of its own: a subclass of the one that it had first, with the edited methods."""
    original, earlier = origin(type(module))
    all_edits = {edit.method: edit for edit in (*earlier, *edits)}
    module.__class__ = edited_class(original, tuple(all_edits[method] for method in sorted(all_edits)))


def origin(cls: type[nn.Module]) -> tuple[type[nn.Module], tuple[Edit, ...]]:
    """The class as its author wrote it, and what is left out of it."""
    return _ORIGINS.get(cls, (cls, ()))


_ORIGINS: dict[type[nn.Module], tuple[type[nn.Module], tuple[Edit, ...]]] = {}
_EDITED: dict[tuple[type[nn.Module], tuple[Edit, ...]], type[nn.Module]] = {}


def edited_class(cls: type[nn.Module], edits: tuple[Edit, ...]) -> type[nn.Module]:
    """The subclass for these edits; the same one every time, so that copies and pickles find it again."""
    if (cls, edits) in _EDITED:
        return _EDITED[cls, edits]
    methods: dict[str, Any] = {edit.method: _edited(_function(cls, edit.method), edit) for edit in edits}

    def reduce(self: nn.Module, protocol: Any) -> tuple[Any, ...]:  # noqa: ARG001
        return _new_instance, (cls, edits), self.__dict__

    said = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    edited = type(cls.__name__, (cls,), {**said, **methods, "__reduce_ex__": reduce})
    _ORIGINS[edited], _EDITED[cls, edits] = (cls, edits), edited
    return edited


def _new_instance(cls: type[nn.Module], edits: tuple[Edit, ...]) -> nn.Module:
    """What a copy or a pickle starts from."""
    edited = edited_class(cls, edits)
    return edited.__new__(edited)


def _function(cls: type[nn.Module], method: str) -> FunctionType:
    found = inspect.getattr_static(cls, method, None)
    if not isinstance(found, FunctionType):
        raise CannotRewriteError(f"{cls.__name__}.{method} is not a plain method")
    return found


def _digest(function: FunctionType) -> str:
    return hashlib.sha256("".join(_lines(function)).encode()).hexdigest()[:16]


def _lines(function: FunctionType) -> list[str]:
    """The whole file: what a line compiles to may depend on its imports."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    if not lines:
        raise CannotRewriteError(f"the source of {function.__qualname__} is not there")
    return lines


def _tree(function: FunctionType) -> ast.Module:
    try:
        return ast.parse("".join(_lines(function)))
    except SyntaxError as error:
        raise CannotRewriteError(f"the source of {function.__qualname__} cannot be read: {error}") from None


@cache
def _check_source_is_what_runs(function: FunctionType) -> None:
    """A file that was edited since its import, or code that something rewrote, is not to be trusted."""
    if _compiled(_tree(function), function).co_code != function.__code__.co_code:
        raise CannotRewriteError(f"the source of {function.__qualname__} is not what runs")


@cache
def _edited(function: FunctionType, edit: Edit) -> FunctionType:
    """The function without the calls of the edit."""
    if _digest(function) != edit.digest:
        raise CannotRewriteError(f"{function.__code__.co_filename} is no longer what it was at the conversion")
    without = _WithoutCalls(set(edit.spans))
    code = _compiled(without.visit(_tree(function)), function)
    if without.spans:
        raise CannotRewriteError(f"a call in {function.__qualname__} was not found in its source")
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    new = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__, new.__doc__, new.__qualname__ = function.__kwdefaults__, function.__doc__, function.__qualname__
    new.__module__, new.__annotations__ = function.__module__, function.__annotations__
    new.__dict__.update(function.__dict__)
    return new


class _WithoutCalls(ast.NodeTransformer):
    """Replaces each call at one of the spans by what is given to it; ticks the spans off."""

    def __init__(self, spans: set[Span]) -> None:
        self.spans = spans

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        span = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
        if span not in self.spans:
            return node
        self.spans.remove(span)
        return argument_of(node)


def argument_of(call: ast.Call) -> ast.expr:
    """What an activation is called with: its first argument, `input=...`, or the tensor whose method it is."""
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    for keyword in call.keywords:
        if keyword.arg in ("input", "x", "hidden_states"):
            return keyword.value
    if isinstance(call.func, ast.Attribute) and not call.args:
        return call.func.value
    raise CannotRewriteError(f"the arguments of `{ast.unparse(call)}` are not understood")


def _compiled(tree: ast.Module, function: FunctionType) -> CodeType:
    """The code of the function, found again in its compiled file."""
    whole = compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec", dont_inherit=True)
    found = _find(whole, function.__code__)
    if found is None:
        raise CannotRewriteError(f"{function.__qualname__} was not found in its source")
    return found


def _find(code: CodeType, like: CodeType) -> CodeType | None:
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    for each in inside:
        if (each.co_qualname, each.co_firstlineno) == (like.co_qualname, like.co_firstlineno):
            return each
    return next((found for each in inside if (found := _find(each, like)) is not None), None)
