"""The Triton kernels in the interpreter, on CPU tensors, compared with eager in float64."""

from functools import partial

from evonorm.kernels.gpu.layer import run_triton
from tests.kernels.reference import compare

compare_interpreted = partial(compare, kernel=run_triton)
