"""A graph as a module: what people put into their models in place of BatchNorm and ReLU."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from evonorm.graph import Graph
from evonorm.kernels import THIS_BATCH, KernelCache, LayerCall, Moments, MovingMoments, run_layer

AFFINE_ONLY = Graph.parse("x")
MOVING_NAMES = {"mean": "running_mean", "rms": "running_square", "std": "running_var"}


class NormAct(nn.Module):
    """y = graph(x) * weight + bias for inputs (N, C, *spatial) with zero to three spatial axes.

    Arguments:
        graph: the layer; also reads formula text such as "x * sigmoid(v1 * x) / std_whcg(x)".
        channels: C.
        nonlinearity: False gives `x * weight + bias`, as the paper's pseudocode does where a model has a
            normalization without an activation.
        groups: for moments over (w,h,c/g); the largest divisor of `channels` that is not above it is taken.
        eps: inside the roots of the moments.
        momentum: weight of the new batch in the moving moments (the paper's decay 0.9 is momentum 0.1); None
            averages all batches equally.

    Parameters are `weight` (gamma), `bias` (beta) and `v0`, `v1` where the graph reads them, all of shape (C,);
    `layer(x, weight=..., bias=...)` takes others for gamma and beta, also per sample (N, C). Each
    moment over the batch has a moving average for evaluation: `running_mean`, `running_square` (mean of squares) or
    `running_var` (biased variance), numbered from 1 where a graph has several of a kind. They stay in fp32 or better.

    Raises FormulaError for text that is no formula, ValueError for impossible arguments and for inputs of another
    shape, TypeError for inputs of whole numbers.

    Example: y = evonorm.NormAct("x / std_bwh(x)", channels=64)(torch.randn(32, 64, 8, 8))
    """

    weight: nn.Parameter
    bias: nn.Parameter
    v0: nn.Parameter | None
    v1: nn.Parameter | None
    num_batches_tracked: Tensor

    def __init__(
        self,
        graph: Graph | str,
        channels: int,
        nonlinearity: bool = True,
        groups: int = 32,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
    ) -> None:
        super().__init__()
        check_settings(channels, groups, eps, momentum)
        self.graph = Graph.parse(graph) if isinstance(graph, str) else graph
        self.channels = channels
        self.nonlinearity = nonlinearity
        self.groups = largest_divisor(channels, groups)
        self.eps = eps
        self.momentum = momentum
        self.running_graph = self.graph if nonlinearity else AFFINE_ONLY
        self.kernel_cache = KernelCache()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_parameter("v0", nn.Parameter(torch.zeros(channels)) if self.running_graph.reads("v0") else None)
        self.register_parameter("v1", nn.Parameter(torch.ones(channels)) if self.running_graph.reads("v1") else None)
        self.moving_names = moving_names(self.running_graph)
        dtype = torch.promote_types(torch.get_default_dtype(), torch.float32)
        for name in self.moving_names:
            start = torch.zeros if name.startswith("running_mean") else torch.ones
            self.register_buffer(name, start(channels, dtype=dtype))
        if self.moving_names and momentum is None:
            self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """The layer on x. `weight` and `bias`, (C,) or per sample (N, C), stand in for gamma and beta in this call."""
        call = self.kernel_call(x, weight, bias)
        y, moments = run_layer(call)
        if moments and x.shape[0] > 0:
            self.track(moments)
        return y

    def kernel_call(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> LayerCall:
        """What `forward` asks of the kernels; `kernel_for(call)` and `why_not(call)` tell which one runs it."""
        check_input(x, self.channels)
        moments: Moments = THIS_BATCH
        if self.moving_names and not self.training:
            moments = MovingMoments(tuple([self.get_buffer(name) for name in self.moving_names]))
        own: Mapping[str, Any] = self._parameters  # as an attribute each of them costs half a microsecond
        try:
            gamma, beta, v0, v1 = own["weight"], own["bias"], own["v0"], own["v1"]
        except KeyError:  # parametrized, or somebody's tensor in a parameter's place
            gamma, beta, v0, v1 = self.weight, self.bias, self.v0, self.v1
        weight, bias = gamma if weight is None else weight, beta if bias is None else bias
        return LayerCall(self.running_graph, x, weight, bias, v0, v1, self.groups, self.eps, moments, self.kernel_cache)

    def track(self, moments: tuple[Tensor, ...]) -> None:
        """Moves the moving moments towards this batch's."""
        if self.momentum is None:
            self.num_batches_tracked += 1
        for name, new in zip(self.moving_names, moments, strict=True):
            old = self._buffers[name]  # get_buffer would walk the dotted name on every step
            assert old is not None
            # a tensor and not its number, which torch.compile would have to stop for
            share = self.num_batches_tracked.to(old.dtype).reciprocal() if self.momentum is None else self.momentum
            old.lerp_(new if new.dtype == old.dtype else new.to(old.dtype), share)

    def reset_running_stats(self) -> None:
        """Forgets the moving moments, as torch's BatchNorm does under this name."""
        for name in self.moving_names:
            self.get_buffer(name).fill_(0.0 if name.startswith("running_mean") else 1.0)
        if self.moving_names and self.momentum is None:
            self.num_batches_tracked.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "NormAct":
        """Keeps the moving moments in fp32 or better through `.half()` and its kind (torch calls this to convert)."""
        kept = {name: self.get_buffer(name) for name in self.moving_names}
        super()._apply(fn, recurse)
        for name, old in kept.items():
            new = self.get_buffer(name)
            if torch.finfo(new.dtype).bits < 32:
                setattr(self, name, old.to(new.device))
        return self

    def extra_repr(self) -> str:
        formula = str(self.graph) if self.nonlinearity else "x (nonlinearity=False)"
        momentum = f", momentum={self.momentum}" if self.moving_names else ""
        return f"{formula}, channels={self.channels}, groups={self.groups}, eps={self.eps}{momentum}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the text of `print(layer)`, the typeset formula and the drawing."""
        from evonorm.pictures import element, graph_html

        return element("div", {}, element("code", {}, repr(self)), graph_html(self.running_graph))


def moving_names(graph: Graph) -> tuple[str, ...]:
    """Buffer names for the graph's batch moments, in order; numbered from 1 where a kind comes more than once."""
    kinds = [MOVING_NAMES[str(graph.node(number).primitive.moment)] for number in graph.batch_moments]
    return tuple(
        kind if kinds.count(kind) == 1 else f"{kind}_{kinds[: i + 1].count(kind)}" for i, kind in enumerate(kinds)
    )


def largest_divisor(channels: int, groups: int) -> int:
    """The paper's official rule for channels that `groups` does not divide: the largest divisor below it."""
    return next(g for g in range(min(groups, channels), 0, -1) if channels % g == 0)


def check_settings(channels: int, groups: int, eps: float, momentum: float | None) -> None:
    for name, value in (("channels", channels), ("groups", groups)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    if not eps >= 0:
        raise ValueError(f"eps must not be negative, got {eps!r}.")
    if momentum is not None and not 0 <= momentum <= 1:
        raise ValueError(f"momentum must lie in 0 to 1, or be None for a cumulative average, got {momentum!r}.")


def check_input(x: Tensor, channels: int) -> None:
    if not 2 <= x.ndim <= 5:
        raise ValueError(
            "expected an input (batch, channels, *spatial) with zero to three spatial axes, got shape"
            f" {tuple(x.shape)}. Add a batch axis with x.unsqueeze(0) if there is none."
        )
    if x.shape[1] != channels:
        raise ValueError(
            f"input has {x.shape[1]} channels, the layer was made for {channels}. Make it with channels={x.shape[1]}."
        )
    if not x.is_floating_point():
        raise TypeError(f"expected a floating point input, got {x.dtype}. Convert it with x.float().")
