// What every opcode computes, and the loops that run it over a tile: dst = f, dst += f, or sums of f per channel.
#pragma once
#include "program.h"
#include "vector_math.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr float kSmallestDivisor = 1e-6f;
constexpr float kSignedEps = 1e-5f;  // inside the signed log and sqrt

// b pushed away from zero, keeping its sign; zero, also -0, counts as positive; NaN stays.
EVONORM_INLINE Vector guarded(Vector b) {
  return b < 0.0f ? at_most(b, all(-kSmallestDivisor)) : at_least(b, all(kSmallestDivisor));
}
EVONORM_INLINE Vector where_unguarded(Vector b, Vector v) { return absolute(b) < kSmallestDivisor ? zero() : v; }
// NaN from either side.
EVONORM_INLINE Vector larger_of(Vector a, Vector b) {
  const Vector m = at_least(b, a);
  return a == a ? m : a;
}
// g where a > b, half of it at ties
EVONORM_INLINE Vector where_larger(Vector g, Vector a, Vector b) {
  const Vector v = a == b ? 0.5f * g : g;
  return a < b ? zero() : v;
}
// sign(a) * magnitude, and 0 at a = 0; also at 1.6e-38, where sigmoid ends: eager's is 0 there
constexpr float kVanished = 1.7e-38f;
EVONORM_INLINE Vector signed_by(Vector a, Vector magnitude) {
  const Vector v = from_bits(bits(magnitude) ^ bits(sign_bit(a)));
  return absolute(a) < kVanished ? zero() : v;
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
EVONORM_FUNCTION(log_grad, const Vector v = a / (absolute(b) + kSignedEps); return absolute(b) < kVanished ? zero() : v;)
EVONORM_FUNCTION(abs_grad, const Vector v = from_bits(bits(a) ^ bits(sign_bit(b))); return b == 0.0f ? zero() : v;)
EVONORM_FUNCTION(square_grad, return 2.0f * a * b;)
EVONORM_FUNCTION(sqrt_grad, const Vector v = 0.5f * a / absolute(b); return b == 0.0f ? zero() : v;)
EVONORM_FUNCTION(recip_grad, return -(a * b) * b;)
EVONORM_FUNCTION(recip_grad_guarded, return where_unguarded(c, -(a * b) * b);)
#undef EVONORM_FUNCTION

// An operand advances by `step` floats per vector (0: one vector for all) and by `jump` floats per plane.
struct Operand {
  const float* p;
  int64_t step, jump;
};

// A tile is `planes` runs of `vectors` vectors. When sums are wanted, vector i of a run goes to accumulator vector
// i % width; with planes, every plane has one accumulator vector.
struct TileCall {
  int64_t planes, vectors, width;
  bool dense;  // every operand advances with the tile
  bool by_plane;
  float* out;
  int64_t out_jump;
  Operand in[kMaxOperands];
};

template <int operands> struct Cursor {
  const float* p[kMaxOperands];
  int64_t step[kMaxOperands];

  EVONORM_INLINE Cursor at(const TileCall& t, int64_t plane) {
    Cursor c;
    for (int k = 0; k < operands; ++k) c.p[k] = t.in[k].p + plane * t.in[k].jump, c.step[k] = t.in[k].step;
    return c;
  }
  template <class F> inline __attribute__((always_inline)) Vector value(int64_t i) const {
    const Vector a = load(p[0] + i * step[0]);
    const Vector b = operands > 1 ? load(p[1] + i * step[1]) : a;
    const Vector c = operands > 2 ? load(p[2] + i * step[2]) : a;
    const Vector d = operands > 3 ? load(p[3] + i * step[3]) : a;
    return F::f(a, b, c, d);
  }
  template <class F> inline __attribute__((always_inline)) Vector dense_value(int64_t offset) const {
    const Vector a = load(p[0] + offset);
    const Vector b = operands > 1 ? load(p[1] + offset) : a;
    const Vector c = operands > 2 ? load(p[2] + offset) : a;
    const Vector d = operands > 3 ? load(p[3] + offset) : a;
    return F::f(a, b, c, d);
  }
};

template <Opcode op, int operands, Mode mode> void run_elementwise(const TileCall& t) {
  typedef Op<op> F;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    const Cursor<operands> in = Cursor<operands>::at(t, plane);
    float* const out = t.out + plane * t.out_jump;
    if (t.dense) {
      const int64_t end = t.vectors * kLanes;
#pragma GCC unroll 4
      for (int64_t i = 0; i < end; i += kLanes) {
        const Vector v = in.template dense_value<F>(i);
        store(out + i, mode == ADD ? load(out + i) + v : v);
      }
    } else {
      for (int64_t i = 0; i < t.vectors; ++i) {
        const Vector v = in.template value<F>(i);
        store(out + i * kLanes, mode == ADD ? load(out + i * kLanes) + v : v);
      }
    }
  }
}

// Sums per accumulator vector. Four at a time, so that additions overlap.
template <Opcode op, int operands> void run_reduce(const TileCall& t) {
  typedef Op<op> F;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    const Cursor<operands> in = Cursor<operands>::at(t, plane);
    float* const out = t.out + plane * t.out_jump;
    if (t.by_plane) {
      Vector s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
      int64_t i = 0;
      for (; i + 4 <= t.vectors; i += 4) {
        s0 += in.template value<F>(i);
        s1 += in.template value<F>(i + 1);
        s2 += in.template value<F>(i + 2);
        s3 += in.template value<F>(i + 3);
      }
      for (; i < t.vectors; ++i) s0 += in.template value<F>(i);
      store(out, load(out) + ((s0 + s1) + (s2 + s3)));
      continue;
    }
    const int64_t whole = t.vectors / t.width * t.width;
    int64_t lane = 0;
    for (; lane + 4 <= t.width; lane += 4) {
      float* const o = out + lane * kLanes;
      Vector s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();  // a tile's own sum: one long sum rounds more
      for (int64_t i = lane; i < whole; i += t.width) {
        s0 += in.template value<F>(i);
        s1 += in.template value<F>(i + 1);
        s2 += in.template value<F>(i + 2);
        s3 += in.template value<F>(i + 3);
      }
      store(o, load(o) + s0), store(o + kLanes, load(o + kLanes) + s1);
      store(o + 2 * kLanes, load(o + 2 * kLanes) + s2), store(o + 3 * kLanes, load(o + 3 * kLanes) + s3);
    }
    for (; lane < t.width; ++lane) {
      Vector s = zero();
      for (int64_t i = lane; i < whole; i += t.width) s += in.template value<F>(i);
      store(out + lane * kLanes, load(out + lane * kLanes) + s);
    }
    for (int64_t i = whole; i < t.vectors; ++i) {
      float* const o = out + (i - whole) * kLanes;
      store(o, load(o) + in.template value<F>(i));
    }
  }
}

typedef void (*TileFunction)(const TileCall&);
const TileFunction kTileFunctions[OPCODE_COUNT][MODE_COUNT] = {
#define EVONORM_OP(name, operands) \
  {run_elementwise<OP_##name, operands, WRITE>, run_elementwise<OP_##name, operands, ADD>, run_reduce<OP_##name, operands>},
#include "opcodes.def"
#undef EVONORM_OP
};

}  // namespace EVONORM_ISA
}  // namespace evonorm
