// fp16 and bf16 to fp32 and back, rounding to nearest even.
#pragma once
#include "vector.h"

namespace evonorm {
namespace EVONORM_ISA {

struct Bfloat16 { uint16_t bits; };
struct Float16 { uint16_t bits; };

EVONORM_INLINE uint32_t float_bits(float f) { uint32_t u; std::memcpy(&u, &f, 4); return u; }
EVONORM_INLINE float bits_float(uint32_t u) { float f; std::memcpy(&f, &u, 4); return f; }

EVONORM_INLINE float widen(float v) { return v; }
EVONORM_INLINE float widen(Bfloat16 v) { return bits_float((uint32_t)v.bits << 16); }
EVONORM_INLINE float widen(Float16 v) {
  const uint32_t sign = (uint32_t)(v.bits & 0x8000) << 16, magnitude = v.bits & 0x7fff;
  if (magnitude >= 0x7c00) return bits_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return bits_float(sign | ((magnitude << 13) + (112u << 23)));
  const float subnormal = (float)magnitude * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -subnormal : subnormal;
}

EVONORM_INLINE void narrow(float v, float& out) { out = v; }
EVONORM_INLINE void narrow(float v, Bfloat16& out) {
  const uint32_t u = float_bits(v);
  out.bits = v == v ? (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) : (uint16_t)(u >> 16 | 0x40);
}
EVONORM_INLINE void narrow(float v, Float16& out) {
  const uint32_t u = float_bits(v), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
  if (magnitude > 0x7f800000) { out.bits = (uint16_t)(sign | 0x7e00); return; }
  if (magnitude >= 0x477ff000) { out.bits = (uint16_t)(sign | 0x7c00); return; }  // 65520 and more round to inf
  if (magnitude < 0x38800000) {  // subnormal: adding 0.5 leaves the result in the low bits, rounded by the adder
    out.bits = (uint16_t)(sign | (float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000));
    return;
  }
  out.bits = (uint16_t)(sign | (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

// Runs of numbers. The loops vectorize for fp32 and bf16; fp16 has its own instructions.
template <class T> EVONORM_INLINE void widen_run(const T* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = widen(in[i]);
}
template <class T> EVONORM_INLINE void narrow_run(const float* in, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) narrow(in[i], out[i]);
}
#if defined(__F16C__)
EVONORM_INLINE void widen_run(const Float16* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(in + i))));
  for (; i < n; ++i) out[i] = widen(in[i]);
}
EVONORM_INLINE void narrow_run(const float* in, Float16* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i*)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) narrow(in[i], out[i]);
}
#endif

}  // namespace EVONORM_ISA
}  // namespace evonorm
