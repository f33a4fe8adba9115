"""Runs a model once and sees what becomes of each normalization's output.

Hooks tell which module runs, a `TorchFunctionMode` which functions take which tensors. A value is followed by the
identity of its tensor, through views, until something uses it; an in-place function ends the value.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch._C import DisableTorchFunction
from torch.jit import ScriptModule
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from evonorm.conversion.activations import Counted, function_activation, module_activation
from evonorm.conversion.norms import Norm, is_what_it_seems, norm_of
from evonorm.conversion.seen import Event, NormCall, Seen, Site

# The same elements in the same number, somewhere else: an activation behind one of these is the normalization's.
VIEWS = {
    *("view", "view_as", "reshape", "flatten", "unflatten", "transpose", "swapaxes", "swapdims", "permute", "movedim"),
    *("contiguous", "squeeze", "unsqueeze", "clone", "alias", "t"),
}
# What only passes values on: an activation behind one of these may mean the normalization's output, or may not.
CARRIERS = {
    *("getitem", "__getitem__", "chunk", "split", "narrow", "select", "unbind", "cat", "concat", "stack", "pad"),
    *("dropout", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout", "to", "type", "float", "half", "detach"),
    *("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "interpolate", "upsample"),
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "pixel_shuffle", "channel_shuffle", "roll"),
}
# What tells of a tensor without its values.
ABOUT = {
    *(
        "__get__",
        "__len__",
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "stride",
        "storage_offset",
        "element_size",
    ),
    *("is_contiguous", "is_floating_point", "is_complex", "get_device", "is_signed", "is_pinned", "is_shared", "type"),
    *("register_hook", "retain_grad", "__set__", "__hash__", "__repr__"),
}
SUMS = {"add", "__add__", "__iadd__", "__radd__", "sub", "__sub__", "sum"}
TORCHS_OWN = (
    "torch.overrides",
    "torch.nn.functional",
    "torch._tensor",
    "torch._jit_internal",
    "torch.nn.modules.module",
)


@dataclass
class _Running:
    """A module that is on the stack, and how many of its children it has called."""

    module: nn.Module
    children: int = 0


class Watch(TorchFunctionMode):
    """Inside it, a run of the model is written down in `seen`. Made for one model and one run."""

    def __init__(self, model: nn.Module, seen: Seen, count: Counted) -> None:
        super().__init__()
        self.seen, self.count = seen, count
        self.names = {id(module): name for name, module in reversed(list(model.named_modules()))}
        self.stack: list[_Running] = []
        self.closed = 0  # how many modules deep we are in one whose inside does not matter
        self.values: dict[int, tuple[Tensor, list[tuple[NormCall, str | None]]]] = {}
        self.model = model

    @contextmanager
    def hooks(self) -> Iterator["Watch"]:
        handles = []
        for module in self.model.modules():
            if isinstance(module, ScriptModule):
                continue  # torch runs it without us; what is inside was never reached
            handles.append(module.register_forward_pre_hook(self.enter, with_kwargs=True, prepend=True))
            handles.append(module.register_forward_hook(self.leave, with_kwargs=True))
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    # -- modules

    def enter(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        owner = self.stack[-1] if self.stack else None
        if self.closed == 0 and owner is not None:
            name = module_activation(module, self.count)
            if name is not None:
                self.activation_module(module, name, owner, [*arguments, *named.values()])
            else:
                self.busy_at(self.site(sys._getframe()))
        if owner is not None:
            owner.children += 1
        self.stack.append(_Running(module))
        if self.closed or self.is_a_box(module):
            self.closed += 1

    def leave(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        self.stack.pop()
        if self.closed:
            self.closed -= 1
        if self.closed:
            return
        name = self.names[id(module)]
        if name in self.seen.norms and isinstance(output, Tensor):
            (x, *_) = (each for each in tree_leaves((arguments, named)) if isinstance(each, Tensor))
            call = NormCall(name, tuple(x.shape), self.is_what_it_seems(module, x, output))
            self.seen.calls.setdefault(name, []).append(call)
            self.values[id(output)] = (output, [(call, None)])
        elif module_activation(module, self.count) and output is not None:
            self.end_if_in_place(arguments, output)

    def is_what_it_seems(self, module: nn.Module, x: Tensor, output: Tensor) -> bool | None:
        with DisableTorchFunction():
            return is_what_it_seems(module, self.seen.norms[self.names[id(module)]], x, output)

    def is_a_box(self, module: nn.Module) -> bool:
        return self.names[id(module)] in self.seen.norms or module_activation(module, self.count) is not None

    def activation_module(self, module: nn.Module, name: str, owner: _Running, given: list[Any]) -> None:
        children = list(owner.module._modules)
        slot = None
        if type(owner.module).forward is nn.Sequential.forward and owner.children < len(children):
            slot = (self.names[id(owner.module)], children[owner.children])
        event = Event(name, self.names[id(module)], slot, self.site(sys._getframe()))
        self.use(given, event)

    # -- functions

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if self.closed:
            return func(*args, **named)
        event = None
        name = function_activation(func, args, named, self.count)
        if name is not None:
            event = Event(name, site=self.site(sys._getframe()), repeat=_repeated(func, args, named))
        given = [each for each in tree_leaves((args, named)) if isinstance(each, Tensor)]
        tracked = [each for each in given if id(each) in self.values]
        out = func(*args, **named)
        if event is not None:
            self.use(given[:1], event)
            self.end_if_in_place(given[:1], out)
            return out
        self.busy_at(self.site(sys._getframe()))
        if tracked:
            self.pass_on(_plain_name(func), tracked, out)
        return out

    def busy_at(self, site: Site | None) -> None:
        if site is not None:
            self.seen.busy.add(site)

    def use(self, given: list[Any], event: Event) -> None:
        """An activation takes a value: the normalization's own, or something made of it."""
        self.seen.events.append(event)
        for value in given:
            for call, through in self.values.get(id(value), (None, []))[1]:
                if through is None:
                    call.uses.append(event)
                    event.call = call
                else:
                    call.later.append((through, event.name))

    def pass_on(self, name: str, tracked: list[Tensor], out: Any) -> None:
        """Any other function takes values: a view is still the value, a sum or a pooling only carries it."""
        results = [each for each in tree_leaves(out) if isinstance(each, Tensor)]
        if not results and name in ABOUT:
            return
        owners = [owner for value in tracked for owner in self.values[id(value)][1]]
        if name in VIEWS:
            passed = owners
        else:
            for call, through in dict.fromkeys(owners):
                if through is None:
                    call.uses.append(name)
            kept = name in CARRIERS or name in SUMS
            passed = [(call, name if name in SUMS else through or name) for call, through in owners] if kept else []
        for result in results:
            if passed:
                self.values[id(result)] = (result, list(dict.fromkeys(passed)))
            else:
                self.values.pop(id(result), None)

    def end_if_in_place(self, given: Any, out: Any) -> None:
        for value in tree_leaves(given):
            if value is out:
                self.values.pop(id(value), None)

    def finish(self, output: Any) -> None:
        """What the model itself returns is used, too."""
        for value in tree_leaves(output):
            for call, through in self.values.get(id(value), (None, []))[1]:
                if through is None:
                    call.uses.append("the model's output")

    # -- code

    def site(self, frame: FrameType | None) -> Site | None:
        """The call in a module's method that led here; None where it stands in any other code."""
        while frame is not None and frame.f_globals.get("__name__") in (*TORCHS_OWN, __name__):
            frame = frame.f_back
        if frame is None or not frame.f_code.co_varnames:
            return None
        code = frame.f_code
        owner = frame.f_locals.get(code.co_varnames[0])
        method = getattr(type(owner), code.co_name, None)
        if not isinstance(owner, nn.Module) or getattr(method, "__code__", None) is not code:
            return None
        span = next(islice(code.co_positions(), frame.f_lasti // 2, None))
        if id(owner) not in self.names or None in span:
            return None
        return Site(self.names[id(owner)], code.co_name, span, f"{type(owner).__name__}.{code.co_name}")


def _plain_name(function: Any) -> str:
    name = str(getattr(function, "__name__", function))
    return name if name.startswith("__") else name.rstrip("_")


def _repeated(function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Tensor], Tensor] | None:
    """The function as it was called, of another tensor; None if it takes further tensors."""
    rest, kept = arguments[1:], {key: value for key, value in named.items() if key != "input"}
    if any(isinstance(each, Tensor) for each in tree_leaves((rest, kept))):
        return None
    return lambda x: function(x, *rest, **kept)


def norms_in(model: nn.Module, count: Counted) -> dict[str, Norm]:
    """Every normalization by its name, but for the inside of another one."""
    found: dict[str, Norm] = {}
    for name, module in model.named_modules():
        norm = norm_of(module, count)
        if norm is not None and not any(name.startswith(f"{outer}.") for outer in found):
            found[name] = norm
    return found
