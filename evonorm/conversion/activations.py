"""Which functions and modules are activations, by one name each."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

ACTIVATIONS = (
    *("relu", "relu6", "leaky_relu", "prelu", "rrelu", "elu", "selu", "celu"),
    *("silu", "gelu", "mish", "hardswish"),
)
"""What counts by default: what EvoNorms stand in for. Gates (sigmoid, tanh, hardsigmoid) do not."""

BENDING = {
    *ACTIVATIONS,
    *("sigmoid", "tanh", "hardsigmoid", "logsigmoid", "log_sigmoid", "softplus", "softsign", "softmax", "log_softmax"),
    *(
        "tanhshrink",
        "hardshrink",
        "softshrink",
        "threshold",
        "hardtanh",
        "glu",
        "clamp",
        "clip",
        "clamp_min",
        "clamp_max",
    ),
    *("maximum", "minimum", "max", "min", "where", "gt", "ge", "lt", "le", "__gt__", "__ge__", "__lt__", "__le__"),
    *("abs", "__abs__", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "pow", "__pow__", "erf", "sign"),
    *("sin", "cos", "heaviside", "reciprocal"),
}
"""Functions that are no counted activation, but may be part of one that somebody wrote by hand, or a gate."""

_BY_CLASS_NAME = {
    **{each.replace("_", ""): each for each in ACTIVATIONS},
    **{"swish": "silu", "swishme": "silu", "siluactivation": "silu", "hardswishme": "hardswish", "mishme": "mish"},
    **{"geluactivation": "gelu", "newgeluactivation": "gelu", "gelutanh": "gelu", "quickgelu": "gelu"},
    **{"pytorchgelutanh": "gelu", "quickgeluactivation": "gelu", "fastgeluactivation": "gelu"},
    **{"mishactivation": "mish", "hardmish": "mish", "hardmishme": "mish"},
}
_LIBRARIES = ("torch.nn.modules.activation", "timm.layers.activations", "transformers.activations")

Counted = tuple[frozenset[str], tuple[type[nn.Module], ...]]


def counted(activations: Iterable[str | type[nn.Module]]) -> Counted:
    """The names and the classes that count, checked."""
    names, classes = set(), []
    for each in activations:
        if isinstance(each, str) and each in ACTIVATIONS:
            names.add(each)
        elif isinstance(each, type) and issubclass(each, nn.Module):
            classes.append(each)
        else:
            raise ValueError(f"activations are names of {', '.join(ACTIVATIONS)}, or classes of modules; got {each!r}.")
    return frozenset(names), tuple(classes)


def module_activation(module: nn.Module, count: Counted) -> str | None:
    """The name of an activation module; None for any other, and for those that do not count."""
    names, classes = count
    if isinstance(module, classes):
        return type(module).__name__
    if not type(module).__module__.startswith(_LIBRARIES):
        return None
    if isinstance(module, nn.Hardtanh):
        name = clamped(module.min_val, module.max_val)
    else:
        name = _BY_CLASS_NAME.get(type(module).__name__.lower())
    return name if name in names else None


def function_activation(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], count: Counted
) -> str | None:
    """The name of an activation function in this call; None for any other, and for those that do not count."""
    called = getattr(function, "__name__", "").rstrip("_")
    name: str | None = called
    if called in ("clamp", "clip", "hardtanh"):
        low, high = ("min", "max") if called != "hardtanh" else ("min_val", "max_val")
        bounds = dict(zip((low, high), arguments[1:], strict=False)) | named
        usual = (None, None) if called != "hardtanh" else (-1.0, 1.0)
        name = clamped(bounds.get(low, usual[0]), bounds.get(high, usual[1]))
    elif called in ("clamp_min", "threshold"):
        rest = [*arguments[1:], *(named[key] for key in ("min", "threshold", "value") if key in named)]
        name = "relu" if all(each == 0 for each in rest) else None
    return name if name in count[0] else None


def clamped(low: object, high: object) -> str | None:
    """A clamp that is a ReLU by another name."""
    if isinstance(low, int | float) and low == 0:
        return {None: "relu", 6.0: "relu6"}.get(high if high is None else float(str(high)))
    return None
