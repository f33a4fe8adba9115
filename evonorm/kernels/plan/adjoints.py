"""The derivative of every element-wise operation, as instructions.

With g the adjoint of v = op(a, b, ...), each line gives what flows into one operand. What an instruction needs besides
g is named: an operand's value ("a", "b", "c"), or the result ("v").
"""

from evonorm.kernels.plan.values import Value, is_safe_divisor

# op -> for every operand position: the instruction and what it reads after g
ADJOINTS: dict[str, tuple[tuple[str, str], ...]] = {
    "copy": (("copy", ""),),
    "add": (("copy", ""), ("copy", "")),
    "sub": (("copy", ""), ("neg", "")),
    "mul": (("mul", "b"), ("mul", "a")),
    "fma": (("mul", "b"), ("mul", "a"), ("copy", "")),
    "max": (("max_grad", "ab"), ("max_grad", "ba")),
    "neg": (("neg", ""),),
    "sigmoid": (("sigmoid_grad", "v"),),
    "tanh": (("tanh_grad", "v"),),
    "exp": (("mul", "v"),),
    "log": (("log_grad", "a"),),
    "abs": (("abs_grad", "a"),),
    "square": (("square_grad", "a"),),
    "sqrt": (("sqrt_grad", "v"),),
    "recip": (("recip_grad_guarded", "va"),),
    "recip_plain": (("recip_grad", "v"),),
    # small rows only: a full quotient shares the reciprocal of its divisor, see backward_pass.py
    "div": (("div", "b"), ("div_grad_guarded", "vb")),
    "div_plain": (("div_plain", "b"), ("div_grad_guarded", "vb")),
    # d sqrt(a^2 + eps) = a / v: written with the division itself, small rows only
    "norm_plus": (("mul_div", "av"),),
}
DIVISIONS = ("div", "div_plain")  # their adjoints share the reciprocal of the divisor, see backward.py


def divisor_adjoint(divisor: Value) -> str:
    """-h * q for h = g / b and q = a / b, but nothing where the guard moved b."""
    return "neg_mul" if is_safe_divisor(divisor) else "neg_mul_guarded"
