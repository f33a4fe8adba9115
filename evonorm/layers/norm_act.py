"""A graph as a module: what people put into their models in place of BatchNorm and ReLU."""

from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex

import torch
from torch import Tensor
from torch.fx import Proxy

from evonorm.graph import Graph
from evonorm.kernels import LayerCall, Moments, MovingMoments, SyncedMoments, run_layer
from evonorm.layers.checkpoints import read_other_checkpoints
from evonorm.layers.conventions import (
    Layer,
    as_one_node,
    check_input,
    check_settings,
    largest_divisor,
    warn_where_activations_stay,
    whole_number,
)

AFFINE_ONLY = Graph.parse("x")
MOVING_NAMES = {"mean": "running_mean", "rms": "running_square", "std": "running_var"}


class NormAct(Layer):
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
        device, dtype: of the parameters.

    Parameters are `weight` (gamma), `bias` (beta) and `v0`, `v1` where the graph reads them, all of shape (C,);
    `layer(x, weight=..., bias=...)` takes others for gamma and beta, also per sample (N, C). Each
    moment over the batch has a moving average for evaluation: `running_mean`, `running_square` (mean of squares) or
    `running_var` (biased variance), numbered from 1 where a graph has several of a kind. They stay in fp32 or better,
    and they stay where they are inside a transform of `torch.func` that did not get them as inputs.

    Raises FormulaError for text that is no formula, ValueError for impossible arguments and for inputs of another
    shape, TypeError for inputs of whole numbers and for sparse, nested and MKLDNN tensors.

    Example: y = evonorm.NormAct("x / std_bwh(x)", channels=64)(torch.randn(32, 64, 8, 8))
    """

    num_batches_tracked: Tensor

    def __init__(
        self,
        graph: Graph | str,
        channels: SupportsIndex,
        nonlinearity: bool = True,
        groups: SupportsIndex = 32,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_settings(eps, momentum)
        graph = Graph.parse(graph) if isinstance(graph, str) else graph
        running_graph = graph if nonlinearity else AFFINE_ONLY
        super().__init__(channels, running_graph.reads("v0"), running_graph.reads("v1"), device, dtype)
        self.graph = graph
        self.running_graph = running_graph
        self.nonlinearity = nonlinearity
        self.groups = largest_divisor(self.channels, whole_number("groups", groups))
        self.eps = eps
        self.momentum = momentum
        self.moving_names = moving_names(running_graph)
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        for name in self.moving_names:
            self.register_buffer(name, torch.empty(self.channels, device=device, dtype=wide))
        if self.moving_names and momentum is None:
            self.register_buffer("num_batches_tracked", torch.tensor(0, device=device))
        self.reset_running_stats()
        self.register_load_state_dict_pre_hook(read_other_checkpoints)
        if nonlinearity:
            warn_where_activations_stay()

    @property
    def track_running_stats(self) -> bool:
        """Whether there are moving moments, by the name that torch's BatchNorm has for it."""
        return bool(self.moving_names)

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """The layer on x. `weight` and `bias`, (C,) or per sample (N, C), stand in for gamma and beta in this call."""
        if isinstance(x, Proxy):
            return as_one_node(self, x, weight, bias)
        call = self.kernel_call(x, weight, bias)
        y, moments = run_layer(call)
        if moments and (x.shape[0] > 0 or others_brought(call.moments)):
            self.track(moments)
        return y

    def kernel_call(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> LayerCall:
        """What `forward` asks of the kernels; `kernel_for(call)` and `why_not(call)` tell which one runs it."""
        check_input(x, self.channels)
        moments: Moments = self.training_moments()
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
        if torch._C._are_functorch_transforms_active() and not self.given_to_the_transform():
            return
        if self.momentum is None:
            self.num_batches_tracked += 1
        for name, new in zip(self.moving_names, moments, strict=True):
            old = self._buffers[name]  # get_buffer would walk the dotted name on every step
            assert old is not None
            # a tensor and not its number, which torch.compile would have to stop for
            share = self.num_batches_tracked.to(old.dtype).reciprocal() if self.momentum is None else self.momentum
            old.lerp_(new if new.dtype == old.dtype else new.to(old.dtype), share)

    def given_to_the_transform(self) -> bool:
        """Whether the moving moments are inputs of the `torch.func` transform around us: others may not be changed."""
        return all(torch._C._functorch.is_functorch_wrapped_tensor(self.get_buffer(name)) for name in self.moving_names)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.reset_running_stats()

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


def others_brought(moments: Moments) -> bool:
    """Whether moments are worth tracking though this process had no batch: others had, or they depend on none."""
    return isinstance(moments, SyncedMoments) and (not moments.counted or bool(moments.counted[0] > 0))


def moving_names(graph: Graph) -> tuple[str, ...]:
    """Buffer names for the graph's batch moments, in order; numbered from 1 where a kind comes more than once."""
    kinds = [MOVING_NAMES[str(graph.node(number).primitive.moment)] for number in graph.batch_moments]
    return tuple(
        kind if kinds.count(kind) == 1 else f"{kind}_{kinds[: i + 1].count(kind)}" for i, kind in enumerate(kinds)
    )
