"""What the native kernel is compared with: eager in float64, and eager in fp32 as the measure of error."""

import torch

from evonorm.graph import CATALOG, Graph
from evonorm.kernels import THIS_BATCH, LayerCall, MovingMoments, run_eager, run_layer

EPS = 1e-5
# every named layer but one whose moment, over c alone, runs on plain torch
NATIVE_FORMULAS = {name: entry.formula for name, entry in CATALOG.items() if name != "pixelnorm-relu"}
SMALLEST_NORM = 1e-24  # counts as the size of smaller tensors: sigmoid(-1e6) is 1e-38 here, not 0


def layer_call(graph, x, weight, bias, v0, v1, *, groups, eps=EPS, moving=None):
    """A call with this batch's moments, or with the moving ones if there are any."""
    moments = THIS_BATCH if moving is None else MovingMoments(tuple(moving))
    return LayerCall(graph, x, weight, bias, v0, v1, groups, eps, moments)


def make_inputs(graph, shape, channels_last=False, dtype=torch.float32, training=True, seed=0, per_sample=()):
    """x, (weight, bias, v0, v1), moving moments or None, and the adjoint of y; the affine (C,), or (B, C) if named."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(size, generator=generator)

    channels = shape[1]
    x, gy = (normal(*shape) * 1.5 + 0.3).to(dtype), normal(*shape).to(dtype)
    if channels_last and len(shape) in (4, 5):
        x = x.to(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
    vectors = [normal(channels), normal(channels), normal(channels) * 0.5, normal(channels) * 0.5 + 1]
    vectors[2] = vectors[2] if graph.reads("v0") else None
    vectors[3] = vectors[3] if graph.reads("v1") else None
    moving = None if training else [torch.rand(channels, generator=generator) + 0.5 for _ in graph.batch_moments]
    for place, name in enumerate(("weight", "bias")):
        vectors[place] = normal(*shape[:2]) if name in per_sample else vectors[place]
    return x, vectors, moving, gy


def run_and_differentiate(run, graph, x, vectors, moving, gy, groups, dtype=None):
    """[y, batch moments ..., grad of x, grads of the vectors ...], with everything in `dtype` if given."""
    x = x.detach().clone(memory_format=torch.preserve_format).to(dtype or x.dtype).requires_grad_()
    vectors = [v if v is None else v.detach().clone().to(dtype or v.dtype).requires_grad_() for v in vectors]
    moving = None if moving is None else [m.to(dtype or m.dtype) for m in moving]
    y, moments = run(layer_call(graph, x, *vectors, groups=groups, moving=moving))
    inputs = [x, *(v for v in vectors if v is not None)]
    gradients = torch.autograd.grad(y, inputs, gy.to(dtype or gy.dtype), allow_unused=True)
    gradients = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, gradients, strict=True)]
    return [y.detach(), *moments, *gradients]


def errors(found, exact):
    """Relative L2 errors, tensor by tensor."""
    return [
        (a.double() - b).norm().item() / max(b.norm().item(), SMALLEST_NORM) for a, b in zip(found, exact, strict=True)
    ]


def compare(graph: Graph, shape, groups, channels_last=False, training=True, seed=0, per_sample=(), kernel=run_layer):
    """(errors of the kernel, or of the dispatched one, errors of fp32 eager); None where float64 is out of range."""
    x, vectors, moving, gy = make_inputs(
        graph, shape, channels_last, training=training, seed=seed, per_sample=per_sample
    )
    arguments = (graph, x, vectors, moving, gy, groups)
    exact = run_and_differentiate(run_eager, *arguments, dtype=torch.float64)
    if not all(torch.isfinite(e).all() and e.abs().max() < 1e7 for e in exact):
        return None
    ours = run_and_differentiate(kernel, *arguments)
    eager = run_and_differentiate(run_eager, *arguments)
    return errors(ours, exact), errors(eager, exact)


def eager_errors_nearby(graph: Graph, shape, groups, channels_last=False, training=True, seed=0, per_sample=()):
    """The largest errors of fp32 eager at the fp32 neighbours of x, tensor by tensor.

    Where a result cancels, eager's error at one x is luck: a rounding may happen to go the right way.
    """
    x, vectors, moving, gy = make_inputs(
        graph, shape, channels_last, training=training, seed=seed, per_sample=per_sample
    )
    found = []
    for towards in (-torch.inf, torch.inf):
        arguments = (graph, torch.nextafter(x, torch.tensor(towards)), vectors, moving, gy, groups)
        exact = run_and_differentiate(run_eager, *arguments, dtype=torch.float64)
        found.append(errors(run_and_differentiate(run_eager, *arguments), exact))
    return [max(pair) for pair in zip(*found, strict=True)]
