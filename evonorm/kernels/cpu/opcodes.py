"""The kernel's instruction set, the Python half of `native/opcodes.def`.

The library tells its own table when it is loaded; one that differs (an old build) is refused.
"""

# name -> number of operands. The order is the numbering that both halves share.
OPCODES: dict[str, int] = {
    # values
    "copy": 1,
    "add": 2,
    "sub": 2,
    "mul": 2,
    "fma": 3,  # a * b + c
    "div": 2,  # by b pushed away from zero
    "div_plain": 2,  # the divisor is known to be 1e-6 or more
    "recip": 1,
    "recip_plain": 1,
    "max": 2,
    "neg": 1,
    "sigmoid": 1,
    "tanh": 1,
    "exp": 1,
    "log": 1,
    "abs": 1,
    "square": 1,
    "sqrt": 1,
    "sqrt_plus": 2,  # sqrt(a + b): a moment from its raw form, b is eps
    "norm_plus": 2,  # sqrt(a * a + b): the rms of a value that is constant over its set
    # fused pairs, which spare a trip through L1: see fuse.py
    "sigmoid_mul": 2,  # sigmoid(a * b)
    "mul_mul": 3,  # a * b * c
    "mul_fma": 4,  # a * b * c + d
    "div_fma": 4,  # a / b * c + d, the divisor as in div_plain
    "max_fma": 4,  # max(a, b) * c + d
    "recip_max": 2,  # 1 / max(a, b), the divisor as in div_plain
    "div_max": 3,  # c / max(a, b), the divisor as in div_plain
    "fma_max": 4,  # max(a * b + c, d)
    "add_max": 3,  # max(a + b, c)
    "sub_max": 3,  # max(a - b, c)
    "sub_mul": 3,  # (a - b) * c
    "sub_mul_max": 4,  # max((a - b) * c, d)
    "mul_add_mul": 4,  # a * b + c * d
    "mul_sigmoid_grad": 3,  # a * b * s * (1 - s)
    "mul_tanh_grad": 3,  # a * b * (1 - t * t)
    "mul_max_grad": 4,  # a * b where c > d, half of it where equal, else 0
    # adjoints; g is the adjoint of the result
    "mul_div": 3,  # g * a / b
    "div_grad_guarded": 3,  # -g * q / b for q = a / b, 0 where |b| was smaller than the guard
    "neg_mul": 2,  # -g * a
    "neg_mul_guarded": 3,  # -g * a where |b| was no smaller than the guard, else 0
    "max_grad": 3,  # g where a > b, g / 2 where equal, else 0
    "sigmoid_grad": 2,  # g * s * (1 - s)
    "tanh_grad": 2,  # g * (1 - t * t)
    "log_grad": 2,  # g / (|a| + 1e-5), 0 at a = 0
    "abs_grad": 2,  # g * sign(a)
    "square_grad": 2,  # 2 * g * a
    "sqrt_grad": 2,  # g / (2 |r|), 0 where r = 0
    "recip_grad": 2,  # -g * r * r
    "recip_grad_guarded": 3,  # the same, 0 where |b| was smaller than the guard
}
NUMBERS = {name: number for number, name in enumerate(OPCODES)}
