// What every opcode computes, one line each. The file is compiled once per vector type: the real ones of vector.h, and
// the one of traced_vector.h, which writes the arithmetic down for machine_code.cpp instead of doing it.
#pragma once
#include "program.h"
#include "vector_math.h"

namespace evonorm {
namespace EVONORM_ISA {

// evonorm/graph/numerics.py has the same two
constexpr float kSmallestDivisor = 1e-6f;
constexpr double kLogSqrtEps = 1e-5;  // inside the signed log and sqrt
constexpr float kSignedEps = (float)kLogSqrtEps;

// b pushed away from zero, keeping its sign; zero, also -0, counts as positive; NaN stays.
EVONORM_INLINE Vector guarded(Vector b) {
  return select(b < 0.0f, at_most(b, all(-kSmallestDivisor)), at_least(b, all(kSmallestDivisor)));
}
EVONORM_INLINE Vector where_unguarded(Vector b, Vector v) { return select(absolute(b) < kSmallestDivisor, zero(), v); }
// NaN from either side.
EVONORM_INLINE Vector larger_of(Vector a, Vector b) {
  const Vector m = at_least(b, a);
  return select(a == a, m, a);
}
// g where a > b, half of it at ties
EVONORM_INLINE Vector where_larger(Vector g, Vector a, Vector b) {
  return select(a < b, zero(), select(a == b, 0.5f * g, g));
}
// sign(a) * magnitude, and 0 at a = 0; also at 1.6e-38, where sigmoid ends: eager's is 0 there
constexpr float kVanished = 1.7e-38f;
EVONORM_INLINE Vector signed_by(Vector a, Vector magnitude) {
  const Vector v = from_bits(bits(magnitude) ^ bits(sign_bit(a)));
  return select(absolute(a) < kVanished, zero(), v);
}

template <Opcode op> struct Op;
#define EVONORM_FUNCTION(name, ...)                                                     \
  template <> struct Op<OP_##name> {                                                    \
    static inline __attribute__((always_inline)) Vector f(Vector a, Vector b, Vector c, Vector d) { \
      (void)a, (void)b, (void)c, (void)d;                                               \
      __VA_ARGS__                                                                       \
    }                                                                                   \
  };
EVONORM_FUNCTION(copy, return a;)
EVONORM_FUNCTION(add, return a + b;)
EVONORM_FUNCTION(sub, return a - b;)
EVONORM_FUNCTION(mul, return a * b;)
EVONORM_FUNCTION(fma, return a * b + c;)
EVONORM_FUNCTION(div, return a / guarded(b);)
EVONORM_FUNCTION(div_plain, return a / b;)
EVONORM_FUNCTION(recip, return 1.0f / guarded(a);)
EVONORM_FUNCTION(recip_plain, return 1.0f / a;)
EVONORM_FUNCTION(max, return larger_of(a, b);)
EVONORM_FUNCTION(neg, return -a;)
EVONORM_FUNCTION(sigmoid, return sigmoid(a);)
EVONORM_FUNCTION(tanh, return hyperbolic_tangent(a);)
EVONORM_FUNCTION(exp, return exponential(a);)
EVONORM_FUNCTION(log, return signed_by(a, logarithm(absolute(a) + kSignedEps));)
EVONORM_FUNCTION(abs, return absolute(a);)
EVONORM_FUNCTION(square, return a * a;)
EVONORM_FUNCTION(sqrt, return signed_by(a, square_root(absolute(a) + kSignedEps));)
EVONORM_FUNCTION(sqrt_plus, return square_root(a + b);)
EVONORM_FUNCTION(norm_plus, return square_root(a * a + b);)
// Fused pairs: the inner operation's operands come first.
EVONORM_FUNCTION(sigmoid_mul, return sigmoid(a * b);)
EVONORM_FUNCTION(mul_mul, return a * b * c;)
EVONORM_FUNCTION(mul_fma, return a * b * c + d;)
EVONORM_FUNCTION(div_fma, return a / b * c + d;)
EVONORM_FUNCTION(max_fma, return larger_of(a, b) * c + d;)
EVONORM_FUNCTION(recip_max, return 1.0f / larger_of(a, b);)
EVONORM_FUNCTION(div_max, return c / larger_of(a, b);)
EVONORM_FUNCTION(fma_max, return larger_of(a * b + c, d);)
EVONORM_FUNCTION(add_max, return larger_of(a + b, c);)
EVONORM_FUNCTION(sub_max, return larger_of(a - b, c);)
EVONORM_FUNCTION(sub_mul, return (a - b) * c;)
EVONORM_FUNCTION(sub_mul_max, return larger_of((a - b) * c, d);)
EVONORM_FUNCTION(mul_add_mul, return a * b + c * d;)
EVONORM_FUNCTION(mul_sigmoid_grad, return a * b * (c - c * c);)
EVONORM_FUNCTION(mul_tanh_grad, return a * b * (1.0f - c * c);)
EVONORM_FUNCTION(mul_max_grad, return where_larger(a * b, c, d);)
// Adjoints: a is the adjoint g of the result.
EVONORM_FUNCTION(mul_div, return a * b / c;)
EVONORM_FUNCTION(div_grad_guarded, return where_unguarded(c, -(a * b) / guarded(c));)
EVONORM_FUNCTION(neg_mul, return -(a * b);)
EVONORM_FUNCTION(neg_mul_guarded, return where_unguarded(c, -(a * b));)
EVONORM_FUNCTION(max_grad, return where_larger(a, b, c);)
EVONORM_FUNCTION(sigmoid_grad, return a * (b - b * b);)
EVONORM_FUNCTION(tanh_grad, return a * (1.0f - b * b);)
EVONORM_FUNCTION(log_grad, const Vector v = a / (absolute(b) + kSignedEps); return select(absolute(b) < kVanished, zero(), v);)
EVONORM_FUNCTION(abs_grad, const Vector v = from_bits(bits(a) ^ bits(sign_bit(b))); return select(b == 0.0f, zero(), v);)
EVONORM_FUNCTION(square_grad, return 2.0f * a * b;)
EVONORM_FUNCTION(sqrt_grad, const Vector v = 0.5f * a / absolute(b); return select(b == 0.0f, zero(), v);)
EVONORM_FUNCTION(recip_grad, return -(a * b) * b;)
EVONORM_FUNCTION(recip_grad_guarded, return where_unguarded(c, -(a * b) * b);)
#undef EVONORM_FUNCTION

}  // namespace EVONORM_ISA
}  // namespace evonorm
