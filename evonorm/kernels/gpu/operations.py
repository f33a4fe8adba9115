"""Every instruction of a plan as Triton text; {0} is the first operand, or the adjoint g where it is a derivative."""

from evonorm.kernels.plan.values import NoInstructionError

OPERATIONS: dict[str, str] = {
    "copy": "{0}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "fma": "tl.fma({0}, {1}, {2})",
    "div": "tl.div_rn({0}, guarded({1}))",
    "div_plain": "tl.div_rn({0}, {1})",
    "recip": "reciprocal(guarded({0}))",
    "recip_plain": "reciprocal({0})",
    "max": "larger({0}, {1})",
    "neg": "-{0}",
    "sigmoid": "sigmoid({0})",
    "tanh": "tanh({0})",
    "exp": "tl.exp({0})",
    "log": "signed_log({0})",
    "abs": "tl.abs({0})",
    "square": "{0} * {0}",
    "sqrt": "signed_sqrt({0})",
    "sqrt_plus": "tl.sqrt_rn({0} + {1})",
    "norm_plus": "tl.sqrt_rn({0} * {0} + {1})",
    "adjoint_div": "{0} / guarded({1})",
    "adjoint_div_plain": "{0} / {1}",
    "mul_div": "{0} * {1} / {2}",
    "neg_mul": "-({0} * {1})",
    "neg_mul_guarded": "unless_guarded(-({0} * {1}), {2})",
    "max_grad": "where_larger({0}, {1}, {2})",
    "sigmoid_grad": "{0} * ({1} - {1} * {1})",
    "tanh_grad": "{0} * (1.0 - {1} * {1})",
    "log_grad": "log_grad({0}, {1})",
    "abs_grad": "signed({1}, {0})",
    "square_grad": "2.0 * {0} * {1}",
    "sqrt_grad": "sqrt_grad({0}, {1})",
    "recip_grad": "-({0} * {1}) * {1}",
    "recip_grad_guarded": "unless_guarded(-({0} * {1}) * {1}, {2})",
}


def operation(op: str, *operands: str) -> str:
    """The instruction on operands with these names."""
    if op not in OPERATIONS:
        raise NoInstructionError(op)
    return OPERATIONS[op].format(*operands)
