// One vector of floats at the width of the instruction set this file is compiled for. Comparisons and selection are
// the compiler's own (vector extensions at native width); only what they cannot say is an intrinsic.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define EVONORM_INLINE static inline __attribute__((always_inline))

namespace evonorm {
namespace EVONORM_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vector __attribute__((vector_size(kLanes * 4)));
typedef int32_t Integers __attribute__((vector_size(kLanes * 4)));
typedef float UnalignedVector __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

EVONORM_INLINE Vector load(const float* p) { return *(const UnalignedVector*)p; }
EVONORM_INLINE void store(float* p, Vector v) { *(UnalignedVector*)p = v; }
EVONORM_INLINE Vector all(float x) { return x - Vector{}; }
EVONORM_INLINE Vector zero() { return Vector{}; }
EVONORM_INLINE Integers bits(Vector v) { return (Integers)v; }
EVONORM_INLINE Vector from_bits(Integers i) { return (Vector)i; }
EVONORM_INLINE Vector to_float(Integers i) { return __builtin_convertvector(i, Vector); }
EVONORM_INLINE Vector select(Integers mask, Vector yes, Vector no) { return mask ? yes : no; }
EVONORM_INLINE Vector absolute(Vector v) { return from_bits(bits(v) & 0x7fffffff); }
EVONORM_INLINE Vector sign_bit(Vector v) { return from_bits(bits(v) & (int32_t)0x80000000); }
EVONORM_INLINE Vector with_sign(Vector magnitude, Vector sign) { return from_bits(bits(magnitude) | bits(sign)); }

// In both, a NaN in `v` survives; a NaN in the bound cannot occur.
#if defined(__AVX512F__)
EVONORM_INLINE Vector at_most(Vector v, Vector bound) { return _mm512_min_ps(bound, v); }
EVONORM_INLINE Vector at_least(Vector v, Vector bound) { return _mm512_max_ps(bound, v); }
EVONORM_INLINE Vector square_root(Vector v) { return _mm512_sqrt_ps(v); }
#elif defined(__AVX2__)
EVONORM_INLINE Vector at_most(Vector v, Vector bound) { return _mm256_min_ps(bound, v); }
EVONORM_INLINE Vector at_least(Vector v, Vector bound) { return _mm256_max_ps(bound, v); }
EVONORM_INLINE Vector square_root(Vector v) { return _mm256_sqrt_ps(v); }
#else
EVONORM_INLINE Vector at_most(Vector v, Vector bound) { return v > bound ? bound : v; }
EVONORM_INLINE Vector at_least(Vector v, Vector bound) { return v < bound ? bound : v; }
EVONORM_INLINE Vector square_root(Vector v) {
  for (int i = 0; i < kLanes; ++i) v[i] = std::sqrt(v[i]);
  return v;
}
#endif

EVONORM_INLINE float lane_sum(Vector v) {
  float parts[kLanes];
  std::memcpy(parts, &v, sizeof parts);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
  return parts[0];
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
