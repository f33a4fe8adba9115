"""The Triton kernels in the interpreter, on CPU tensors, compared with eager in float64."""

import torch

from evonorm.kernels import run_eager
from evonorm.kernels.gpu.layer import run_triton
from tests.kernels.reference import errors, make_inputs, run_and_differentiate


def compare_interpreted(graph, shape, groups, channels_last=False, training=True, seed=0, per_sample=()):
    """(errors of the Triton kernels, errors of fp32 eager), or None where float64 itself is out of range."""
    x, vectors, moving, gy = make_inputs(
        graph, shape, channels_last, training=training, seed=seed, per_sample=per_sample
    )
    arguments = (graph, x, vectors, moving, gy, groups)
    exact = run_and_differentiate(run_eager, *arguments, dtype=torch.float64)
    if not all(torch.isfinite(e).all() and e.abs().max() < 1e7 for e in exact):
        return None
    ours = run_and_differentiate(run_triton, *arguments)
    return errors(ours, exact), errors(run_and_differentiate(run_eager, *arguments), exact)
