// exp, sigmoid, tanh and log on vectors: range reduction and short polynomials, about 1 to 2 ulp; NaN goes through.
#pragma once
#include "vector.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr float kLog2e = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // ln 2 in two parts: n * high is exact
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold

// exp(v) = 2^n * exp(r), |r| <= ln 2 / 2. Gives exp(r) and n as the low bits of `shifted`.
EVONORM_INLINE Vector exp_fraction(Vector v, Vector& shifted) {
  shifted = v * kLog2e + kRound;
  const Vector n = shifted - kRound;
  Vector r = v - n * kLn2High;
  r = r - n * kLn2Low;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + (r + 1.0f);
}

// For |v| <= 87: the exponent is added in one step.
EVONORM_INLINE Vector exp_in_range(Vector v) {
  Vector shifted;
  const Vector p = exp_fraction(v, shifted);
  return from_bits(bits(p) + (bits(shifted) << 23));
}

EVONORM_INLINE Vector exponential(Vector v) {
  Vector shifted;
  const Vector clamped = at_least(at_most(v, all(89.0f)), all(-104.0f));
  const Vector p = exp_fraction(clamped, shifted);
  const Integers n = bits(shifted) - bits(all(kRound));
  const Integers half = n >> 1;  // two factors: 2^128 and the subnormals are out of reach of one
  return p * from_bits((half + 127) << 23) * from_bits((n - half + 127) << 23);
}

EVONORM_INLINE Vector sigmoid(Vector v) {
  const Vector e = exp_in_range(at_least(at_most(0.0f - v, all(87.0f)), all(-87.0f)));
  return 1.0f / (1.0f + e);  // a true division: exactly 1 at saturation, so that s * (1 - s) is exactly 0 there
}

EVONORM_INLINE Vector hyperbolic_tangent(Vector v) {
  const Vector a = absolute(v), s = v * v;
  Vector p = s * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  p = p * s * v + v;
  const Vector e = exp_in_range(at_most(a + a, all(30.0f)));
  const Vector q = 1.0f - 2.0f / (e + 1.0f);
  return a < 0.625f ? p : with_sign(q, sign_bit(v));
}

// ln(v) for normal v > 0; inf and NaN give themselves.
EVONORM_INLINE Vector logarithm(Vector v) {
  const Integers exponent = (bits(v) >> 23) - 126;
  Vector m = from_bits((bits(v) & 0x007fffff) | 0x3f000000);  // v = m * 2^exponent, m in [0.5, 1)
  const Integers low = m < 0.70710678f;
  const Vector e = __builtin_convertvector(exponent + low, Vector);  // low is -1 where it holds
  m = (low ? m + m : m) - 1.0f;
  const Vector z = m * m;
  Vector p = m * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  Vector y = m * z * p + e * kLn2Low - 0.5f * z;
  y = m + y + e * kLn2High;
  return v < INFINITY ? y : v;
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
