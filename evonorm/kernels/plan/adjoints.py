"""The derivative of every element-wise operation, as instructions.

With g the adjoint of v = op(a, b, ...), each line gives what flows into one operand. What an instruction needs besides
g is named: an operand's value ("a", "b", "c"), or the result ("v").
"""

from evonorm.graph import ROWS
from evonorm.kernels.plan.values import Value, is_safe_divisor

# op -> for every operand position: the instruction and what it reads after g. A primitive's are in its record; a full
# quotient shares the reciprocal of its divisor instead, see backward_pass.py.
ADJOINTS: dict[str, tuple[tuple[str, str], ...]] = {
    **{each.name: each.adjoint for row in ROWS for each in row if each.adjoint is not None},
    "copy": (("copy", ""),),
    "sub": (("copy", ""), ("neg", "")),
    "fma": (("mul", "b"), ("mul", "a"), ("copy", "")),
    "recip": (("recip_grad_guarded", "va"),),
    "recip_plain": (("recip_grad", "v"),),
    "div_plain": (("div_plain", "b"), ("div_grad_guarded", "vb")),
    # d sqrt(a^2 + eps) = a / v: written with the division itself, small rows only
    "norm_plus": (("mul_div", "av"),),
}
DIVISIONS = ("div", "div_plain")  # their adjoints share the reciprocal of the divisor, see backward.py


def divisor_adjoint(divisor: Value) -> str:
    """-h * q for h = g / b and q = a / b, but nothing where the guard moved b."""
    return "neg_mul" if is_safe_divisor(divisor) else "neg_mul_guarded"
