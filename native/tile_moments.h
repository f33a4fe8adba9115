// Mean and variance of a register over the plane, per channel: sums of (t - shift) and (t - shift)^2 in fp32 lanes,
// finished in double. The shift is a mean of the channel's first elements, so nothing cancels when mean >> std.
#pragma once
#include "context.h"

namespace evonorm {
namespace EVONORM_ISA {

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

// Rows: the shift is the mean over the rows of the first tile.
inline void start_row_moments(const float* t, int64_t rows, int64_t channels, int64_t width, float* spare,
                              const TileMomentSums& s) {
  fold_lanes(t, rows * channels, channels, spare);
  const float share = 1.0f / rows;
  for (int64_t c = 0; c < channels; ++c) spare[c] = finite_or_zero(spare[c] * share);
  repeat_row(spare, channels, width, s.shift);
  std::memset(s.first, 0, width * sizeof(float));
  std::memset(s.second, 0, width * sizeof(float));
}

template <int block>
EVONORM_INLINE void row_moment_block(const float* t, int64_t end, int64_t width, int64_t lane, const TileMomentSums& s) {
  Vector shift[block], a[block], b[block];
  for (int k = 0; k < block; ++k) {
    const int64_t at = lane + k * kLanes;
    shift[k] = load(s.shift + at), a[k] = zero(), b[k] = zero();  // a tile's own sums: one long sum rounds more
  }
  for (int64_t i = lane; i < end; i += width)
    for (int k = 0; k < block; ++k) {
      const Vector e = load(t + i + k * kLanes) - shift[k];
      a[k] += e;
      b[k] = e * e + b[k];
    }
  for (int k = 0; k < block; ++k) {
    const int64_t at = lane + k * kLanes;
    store(s.first + at, load(s.first + at) + a[k]), store(s.second + at, load(s.second + at) + b[k]);
  }
}

inline void add_row_moments(const float* t, int64_t length, int64_t width, const TileMomentSums& s) {
  const int64_t whole = length / width * width;
  int64_t lane = 0;
  for (; lane + 4 * kLanes <= width; lane += 4 * kLanes) row_moment_block<4>(t, whole, width, lane, s);
  for (; lane < width; lane += kLanes) row_moment_block<1>(t, whole, width, lane, s);
  for (lane = 0; whole + lane < length; lane += kLanes) row_moment_block<1>(t + whole, lane + 1, width, lane, s);
}

// Merges `count` rows behind the sums into mean and variance of `before` rows.
inline void finish_row_moments(const TileMomentSums& s, int64_t width, int64_t channels, int64_t valid, double before,
                               double count, bool squares, float* spare, double* mean, double* variance) {
  float* const first = spare;
  float* const second = spare + channels;
  fold_lanes(s.first, width, channels, first);
  fold_lanes(s.second, width, channels, second);
  const double share = 1.0 / count, weight = count / (before + count);
  for (int64_t c = 0; c < valid; ++c) {
    const double e = first[c] * share, finite = e - e == 0 ? 1 : 0;
    const double m = s.shift[c] + e, raw = squares ? second[c] * share : 0;
    double v = finite ? raw - e * e : raw;
    v = v < 0 ? 0 : v;
    if (before > 0) {
      const double distance = m - mean[c];
      v = variance[c] + weight * (v - variance[c]) + weight * (1 - weight) * distance * distance;
      mean[c] += weight * distance;
    } else {
      mean[c] = m;
    }
    variance[c] = v;
  }
}

// Planes: one accumulator vector per plane; the shift is the mean of the plane's first vectors.
inline void start_plane_moments(const float* t, int64_t planes, int64_t length, const TileMomentSums& s) {
  const int64_t vectors = smaller(length / kLanes, 4);
  for (int64_t p = 0; p < planes; ++p) {
    Vector sum = zero();
    for (int64_t i = 0; i < vectors; ++i) sum += load(t + p * length + i * kLanes);
    store(s.shift + p * kLanes, all(finite_or_zero(lane_sum(sum) / (vectors * kLanes))));
    store(s.first + p * kLanes, zero());
    store(s.second + p * kLanes, zero());
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
