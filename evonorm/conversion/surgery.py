"""Puts new modules where normalizations were, and takes out the activations that they stand in for."""

from collections.abc import Iterable, Mapping

from torch import nn

from evonorm.conversion.decide import Decision, TakeCall, TakeModule, TakeSlot
from evonorm.conversion.rewrite import Span, edit_of, leave_out_calls


def operate(model: nn.Module, decisions: Iterable[Decision], new_modules: Mapping[str, nn.Module]) -> None:
    """Replaces every named normalization by its new module, and takes out what the decisions say, in place."""
    decisions = list(decisions)
    calls: dict[str, dict[str, list[Span]]] = {}
    for taking in (taking for decision in decisions for taking in decision.takings):
        match taking:
            case TakeModule(name):
                replace_everywhere(model, model.get_submodule(name), nn.Identity())
            case TakeSlot(owner, child):
                model.get_submodule(owner)._modules[child] = nn.Identity()
            case TakeCall(site):
                calls.setdefault(site.owner, {}).setdefault(site.method, []).append(site.span)
    for owner, methods in calls.items():
        module = model.get_submodule(owner)
        leave_out_calls(module, [edit_of(type(module), method, spans) for method, spans in methods.items()])
    for decision in decisions:
        if decision.name in new_modules:
            replace_everywhere(model, model.get_submodule(decision.name), new_modules[decision.name])


def replace_everywhere(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """A module may be registered in several places, and stay one module."""
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child is old and child is not new:
                parent._modules[name] = new
