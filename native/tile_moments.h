// Mean and variance of a register over the plane, per channel: sums of (t - shift) and (t - shift)^2 in fp32 lanes,
// finished in double. The shift is a mean of the channel's first elements, so nothing cancels when mean >> std.
#pragma once
#include "context.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr int64_t kMomentFloats = 4096;

struct TileMomentSums {
  float *shift, *first, *second;  // accumulator_floats() each
};

EVONORM_INLINE float finite_or_zero(float v) { return v - v == 0 ? v : 0.0f; }

// Sums over groups of `channels` lanes: out[c] = sum_k lanes[k * channels + c].
inline void fold_lanes(const float* lanes, int64_t width, int64_t channels, float* out) {
  std::memcpy(out, lanes, channels * sizeof(float));
  for (int64_t k = channels; k < width; k += channels)
    for (int64_t c = 0; c < channels; ++c) out[c] += lanes[k + c];
}
inline void repeat_row(const float* row, int64_t channels, int64_t length, float* out) {
  for (int64_t k = 0; k < length; k += channels) std::memcpy(out + k, row, channels * sizeof(float));
}

inline void clear_row_moments(int64_t width, const TileMomentSums& s) {
  for (float* each : {s.shift, s.first, s.second}) std::memset(each, 0, width * sizeof(float));
}

// Rows: the shift is the mean over the first rows: `runs` of them lie in `t`, or their sums do.
inline void start_row_moments(const float* t, int64_t runs, int64_t stride, int64_t rows, int64_t channels, int64_t width,
                              float* spare, const TileMomentSums& s) {
  std::memcpy(spare, t, channels * sizeof(float));
  for (int64_t run = 1; run < runs; ++run)
    for (int64_t c = 0; c < channels; ++c) spare[c] += t[run * stride + c];
  const float share = 1.0f / rows;
  for (int64_t c = 0; c < channels; ++c) spare[c] = finite_or_zero(spare[c] * share);
  repeat_row(spare, channels, width, s.shift);
  std::memset(s.first, 0, width * sizeof(float));
  std::memset(s.second, 0, width * sizeof(float));
}

// Lanes [lane, lane + block vectors) of `runs` runs that begin `stride` floats apart.
template <int block>
EVONORM_INLINE void row_moment_block(const float* t, int64_t runs, int64_t stride, int64_t lane, const TileMomentSums& s) {
  Vector shift[block], a[block], b[block];
  for (int k = 0; k < block; ++k) {
    const int64_t at = lane + k * kLanes;
    shift[k] = load(s.shift + at), a[k] = zero(), b[k] = zero();  // a tile's own sums: one long sum rounds more
  }
  const float* p = t + lane;
  for (int64_t run = 0; run < runs; ++run, p += stride)
    for (int k = 0; k < block; ++k) {
      const Vector e = load(p + k * kLanes) - shift[k];
      a[k] += e;
      b[k] = e * e + b[k];
    }
  for (int k = 0; k < block; ++k) {
    const int64_t at = lane + k * kLanes;
    store(s.first + at, load(s.first + at) + a[k]), store(s.second + at, load(s.second + at) + b[k]);
  }
}

// So many runs at a time that they are still in L1 when the next lanes come.
inline void add_runs(const float* t, int64_t runs, int64_t stride, int64_t width, const TileMomentSums& s) {
  const int64_t most = larger(kMomentFloats / larger(stride, 1), 4);
  for (int64_t run = 0; run < runs; run += most, t += most * stride) {
    const int64_t some = smaller(most, runs - run);
    int64_t lane = 0;
    for (; lane + 4 * kLanes <= width; lane += 4 * kLanes) row_moment_block<4>(t, some, stride, lane, s);
    for (; lane < width; lane += kLanes) row_moment_block<1>(t, some, stride, lane, s);
  }
}
// `length` floats in runs of `width`; the last run may be shorter.
inline void add_row_moments(const float* t, int64_t length, int64_t width, int64_t stride, const TileMomentSums& s) {
  const int64_t runs = length / width;
  add_runs(t, runs, stride, width, s);
  add_runs(t + runs * stride, 1, 0, length % width, s);
}

// Mean and variance of the first `count` rows.
inline void finish_first_rows(const float* shift, const float* first, const float* second, int64_t valid, double count,
                              bool squares, double* mean, double* variance) {
  const double share = 1.0 / count, square_share = squares ? share : 0;
#pragma omp simd
  for (int64_t c = 0; c < valid; ++c) {
    const double e = first[c] * share, raw = squares ? second[c] * square_share : 0;
    const double v = e - e == 0 ? raw - e * e : raw;
    mean[c] = shift[c] + e;
    variance[c] = v < 0 ? 0 : v;
  }
}

// Merges `count` rows behind the sums into mean and variance of `before` rows.
inline void finish_row_moments(const TileMomentSums& s, int64_t width, int64_t channels, int64_t valid, double before,
                               double count, bool squares, float* spare, double* mean, double* variance) {
  const float *first = s.first, *second = s.second;
  if (width != channels) {
    fold_lanes(s.first, width, channels, spare);
    fold_lanes(s.second, width, channels, spare + channels);
    first = spare, second = spare + channels;
  }
  if (before == 0) return finish_first_rows(s.shift, first, second, valid, count, squares, mean, variance);
  const double share = 1.0 / count, weight = count / (before + count);
  for (int64_t c = 0; c < valid; ++c) {
    const double e = first[c] * share, raw = squares ? second[c] * share : 0;
    const double v = e - e == 0 ? raw - e * e : raw, distance = s.shift[c] + e - mean[c];
    variance[c] += weight * ((v < 0 ? 0 : v) - variance[c]) + weight * (1 - weight) * distance * distance;
    mean[c] += weight * distance;
  }
}

// Planes: one accumulator vector per plane; the shift is the mean of the plane's first vectors.
inline void clear_plane_moments(int64_t p, const TileMomentSums& s) {
  for (float* each : {s.shift, s.first, s.second}) store(each + p * kLanes, zero());
}
// From the sum of the first vectors to the shift.
inline void shift_plane_moments(int64_t p, int64_t vectors, const TileMomentSums& s) {
  const float mean = lane_sum(load(s.first + p * kLanes)) / (vectors * kLanes);
  clear_plane_moments(p, s);
  store(s.shift + p * kLanes, all(finite_or_zero(mean)));
}
inline void start_plane_moments(const float* t, int64_t planes, int64_t length, const TileMomentSums& s) {
  const int64_t vectors = smaller(length / kLanes, 4);
  for (int64_t p = 0; p < planes; ++p) {
    Vector sum = zero();
    for (int64_t i = 0; i < vectors; ++i) sum += load(t + p * length + i * kLanes);
    store(s.first + p * kLanes, sum);
    shift_plane_moments(p, vectors, s);
  }
}
inline void add_plane_moments(const float* t, int64_t planes, int64_t length, const TileMomentSums& s) {
  for (int64_t p = 0; p < planes; ++p) {
    const float* const plane = t + p * length;
    const Vector shift = load(s.shift + p * kLanes);
    Vector a0 = zero(), a1 = zero(), b0 = zero(), b1 = zero();
    int64_t i = 0;
    for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
      const Vector e0 = load(plane + i) - shift, e1 = load(plane + i + kLanes) - shift;
      a0 += e0, a1 += e1;
      b0 = e0 * e0 + b0, b1 = e1 * e1 + b1;
    }
    if (i < length) {
      const Vector e = load(plane + i) - shift;
      a0 += e;
      b0 = e * e + b0;
    }
    store(s.first + p * kLanes, load(s.first + p * kLanes) + (a0 + a1));
    store(s.second + p * kLanes, load(s.second + p * kLanes) + (b0 + b1));
  }
}
inline void finish_plane_moments(const TileMomentSums& s, int64_t planes, double count, double* mean, double* variance) {
  for (int64_t p = 0; p < planes; ++p) {
    const double e = lane_sum(load(s.first + p * kLanes)) / count;
    const double raw = lane_sum(load(s.second + p * kLanes)) / count;
    const double v = e - e == 0 ? raw - e * e : raw;
    mean[p] = s.shift[p * kLanes] + e;
    variance[p] = v < 0 ? 0 : v;
  }
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
