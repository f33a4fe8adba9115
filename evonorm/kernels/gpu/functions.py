"""What generated kernels call: the operations that Triton has no word for, and the merging of moments.

Tiles have two axes, sizes of one broadcast. Where a value must be what it is in eager, x / x = 1 or the mean of one
element, divisions and roots are rounded as IEEE says; elsewhere, in adjoints and inside sigmoid and tanh, `/` is the
compiler's, which may be off by two units in the last place and needs fewer registers.
"""

import triton
import triton.language as tl

from evonorm.graph import LOG_SQRT_EPS, SMALLEST_DIVISOR

GUARD = tl.constexpr(SMALLEST_DIVISOR)
SIGNED_EPS = tl.constexpr(LOG_SQRT_EPS)
NAN_STAYS = tl.constexpr(tl.PropagateNan.ALL)


@triton.jit
def guarded(b):
    """b pushed away from zero, keeping its sign; zero counts as positive."""
    return tl.where(b < 0, tl.minimum(b, -GUARD, NAN_STAYS), tl.maximum(b, GUARD, NAN_STAYS))


@triton.jit
def unless_guarded(v, b):
    """v, but nothing where the guard has moved b."""
    return tl.where(tl.abs(b) < GUARD, 0.0, v)


@triton.jit
def reciprocal(b):
    return tl.div_rn(tl.full(b.shape, 1.0, tl.float32), b)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b, NAN_STAYS)


@triton.jit
def where_larger(g, a, b):
    """g where a > b, half of it at ties."""
    return tl.where(a < b, 0.0, tl.where(a == b, 0.5 * g, g))


@triton.jit
def sigmoid(a):
    return 1.0 / (1.0 + tl.exp(-a))


@triton.jit
def tanh(a):
    """By exp; a series below 1/4, where 1 - exp(-2a) would cancel."""
    e = tl.exp(-2.0 * tl.abs(a))
    far = (1.0 - e) / (1.0 + e)
    s = a * a
    near = a * (1.0 + s * (-1.0 / 3.0 + s * (2.0 / 15.0 + s * (-17.0 / 315.0 + s * (62.0 / 2835.0)))))
    return tl.where(tl.abs(a) < 0.25, near, tl.where(a < 0, -far, far))


@triton.jit
def signed(a, magnitude):
    """magnitude with the sign of a, and 0 at a = 0."""
    return tl.where(a == 0, 0.0, tl.where(a < 0, -magnitude, magnitude))


@triton.jit
def signed_log(a):
    return signed(a, tl.log(tl.abs(a) + SIGNED_EPS))


@triton.jit
def signed_sqrt(a):
    return signed(a, tl.sqrt_rn(tl.abs(a) + SIGNED_EPS))


@triton.jit
def log_grad(g, a):
    return tl.where(a == 0, 0.0, g / (tl.abs(a) + SIGNED_EPS))


@triton.jit
def sqrt_grad(g, root):
    return tl.where(root == 0, 0.0, 0.5 * g / tl.abs(root))


@triton.jit
def total(v, valid, axis: tl.constexpr):
    """The sum over the valid places along an axis, which stays as one of size one."""
    return tl.sum(tl.where(valid, v, 0.0), axis=axis, keep_dims=True)


@triton.jit
def over_sample(v, valid):
    """The sum over both axes."""
    return tl.sum(total(v, valid, 1), axis=0, keep_dims=True)


@triton.jit
def per(v, n):
    """v / n for a whole number n; rounded once, so that the mean of one element is that element."""
    return tl.div_rn(v, tl.zeros(v.shape, tl.float32) + n)


@triton.jit
def merge(seen_sum, seen_m2, seen, new_sum, new_m2, new):
    """The sum and the squared deviations of two disjoint sets together (Chan et al. 1979), from those of each."""
    apart = per(new_sum, tl.maximum(new, 1.0)) - per(seen_sum, tl.maximum(seen, 1.0))
    between = apart * apart * (seen * new / tl.maximum(seen + new, 1.0))
    return seen_sum + new_sum, seen_m2 + new_m2 + tl.where(seen * new > 0, between, 0.0)


@triton.jit
def add_elements(seen_sum, seen_m2, seen, t, valid, size):
    """A chunk of elements into the sum and the squared deviations of their row."""
    chunk = total(t, valid, 1)
    apart = t - per(chunk, size)
    return merge(seen_sum, seen_m2, seen, chunk, total(apart * apart, valid, 1), size)


@triton.jit
def add_rows(seen_sum, seen_m2, seen, mean, m2, sizes, valid):
    """A chunk of rows, each with the mean, squared deviations and number of its elements, into those of the column."""
    size = total(sizes, valid, 0)
    chunk = total(mean * sizes, valid, 0)
    apart = mean - per(chunk, tl.maximum(size, 1.0))
    return merge(seen_sum, seen_m2, seen, chunk, total(m2 + sizes * apart * apart, valid, 0), size)
