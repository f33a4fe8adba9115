// exp, sigmoid, tanh and log on vectors: range reduction and short polynomials, about 1 to 2 ulp; NaN goes through.
// Written for any vector type that the including file brings: vector.h or traced_vector.h.
#pragma once

namespace evonorm {
namespace EVONORM_ISA {

constexpr float kLog2e = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // ln 2 in two parts: n * high is exact
constexpr float kLn2 = 0.693147180559945309f;
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold

// exp(r) for |r| <= ln 2 / 2 within 3e-9, in pairs rather than one after the other: what waits is shorter.
EVONORM_INLINE Vector exp_fraction(Vector r) {
  const Vector s = r * r;
  const Vector low = r * 1.666652113e-1f + 4.999999404e-1f, high = r * 8.368710056e-3f + 4.166838899e-2f;
  return ((s * 1.381461276e-3f + high) * s + low) * s + (r + 1.0f);
}

// exp(-v) = 2^n * exp(r) for |v| <= 87: the exponent is added in one step; ln 2 in one part is off by 2.4e-7 at most.
EVONORM_INLINE Vector exp_of_minus(Vector v) {
  const Vector shifted = v * -kLog2e + kRound;
  const Vector p = exp_fraction((shifted - kRound) * -kLn2 - v);
  return from_bits(bits(p) + (bits(shifted) << 23));
}

EVONORM_INLINE Vector exponential(Vector v) {
  const Vector clamped = at_least(at_most(v, all(89.0f)), all(-104.0f));
  const Vector shifted = clamped * kLog2e + kRound, rounded = shifted - kRound;
  const Vector p = exp_fraction((clamped - rounded * kLn2High) - rounded * kLn2Low);
  const Integers n = bits(shifted) - bits(all(kRound));
  const Integers half = n >> 1;  // two factors: 2^128 and the subnormals are out of reach of one
  return p * from_bits((half + 127) << 23) * from_bits((n - half + 127) << 23);
}

EVONORM_INLINE Vector sigmoid(Vector v) {
  const Vector e = exp_of_minus(at_least(at_most(v, all(87.0f)), all(-87.0f)));
  return 1.0f / (1.0f + e);  // a true division: exactly 1 at saturation, so that s * (1 - s) is exactly 0 there
}

EVONORM_INLINE Vector hyperbolic_tangent(Vector v) {
  const Vector a = absolute(v), s = v * v;
  const Vector high = (s * -5.70498872745e-3f + 2.06390887954e-2f) * s - 5.37397155531e-2f;
  const Vector low = s * 1.33314422036e-1f - 3.33332819422e-1f;
  const Vector p = (high * (s * s) + low) * (s * v) + v;
  const Vector q = 2.0f / (1.0f + exp_of_minus(at_most(a + a, all(30.0f)))) - 1.0f;
  return select(a < 0.625f, p, with_sign(q, sign_bit(v)));
}

// ln(v) for normal v > 0; inf and NaN give themselves.
EVONORM_INLINE Vector logarithm(Vector v) {
  const Integers exponent = (bits(v) >> 23) - 126;
  Vector m = from_bits((bits(v) & 0x007fffff) | 0x3f000000);  // v = m * 2^exponent, m in [0.5, 1)
  const Integers below = m < 0.70710678f;
  const Vector e = to_float(exponent + below);  // -1 where it holds
  m = select(below, m + m, m) - 1.0f;
  const Vector z = m * m;
  const Vector p0 = m * -2.4999993993e-1f + 3.3333331174e-1f, p2 = m * -1.6668057665e-1f + 2.0000714765e-1f;
  const Vector p4 = m * -1.2420140846e-1f + 1.4249322787e-1f, p6 = m * -1.1514610310e-1f + 1.1676998740e-1f;
  const Vector low = p2 * z + p0, high = (z * 7.0376836292e-2f + p6) * z + p4;
  const Vector p = high * (z * z) + low;
  Vector y = m * z * p + e * kLn2Low - 0.5f * z;
  y = m + y + e * kLn2High;
  return select(v < INFINITY, y, v);
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
