// Brings a sample into rows of fp32, padded to whole vectors, and back: for half precision, for small planes of
// channels-first tensors (transposed) and for sizes whose tiles would not be whole vectors.
#pragma once
#include "geometry.h"
#include "half.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr int64_t kSquare = 16;  // transposed in squares, so that both sides stay in L1

template <class T> void stage_rows(const T* in, float* out, const Geometry& g) {
  for (int64_t r = 0; r < g.plane; ++r) widen_run(in + r * g.channels, out + r * g.row_channels, g.channels);
}
template <class T> void unstage_rows(const float* in, T* out, const Geometry& g) {
  for (int64_t r = 0; r < g.plane; ++r) narrow_run(in + r * g.row_channels, out + r * g.channels, g.channels);
}

template <class T> void stage_planes(const T* in, float* out, const Geometry& g) {
  for (int64_t c0 = 0; c0 < g.channels; c0 += kSquare) {
    const int64_t c1 = smaller(c0 + kSquare, g.channels);
    for (int64_t r = 0; r < g.plane; ++r)
      for (int64_t c = c0; c < c1; ++c) out[r * g.row_channels + c] = widen(in[c * g.plane + r]);
  }
}
template <class T> void unstage_planes(const float* in, T* out, const Geometry& g) {
  for (int64_t c0 = 0; c0 < g.channels; c0 += kSquare) {
    const int64_t c1 = smaller(c0 + kSquare, g.channels);
    for (int64_t c = c0; c < c1; ++c)
      for (int64_t r = 0; r < g.plane; ++r) narrow(in[r * g.row_channels + c], out[c * g.plane + r]);
  }
}

inline void clear_padding(float* sample, const Geometry& g) {
  for (int64_t r = 0; r < g.plane; ++r)
    for (int64_t c = g.channels; c < g.row_channels; ++c) sample[r * g.row_channels + c] = 0;
}

template <class T> void stage_as(const void* tensor, int64_t sample, bool rows, float* out, const Geometry& g) {
  const T* const in = static_cast<const T*>(tensor) + sample * g.channels * g.plane;
  rows ? stage_rows(in, out, g) : stage_planes(in, out, g);
}
template <class T> void unstage_as(const float* in, void* tensor, int64_t sample, bool rows, const Geometry& g) {
  T* const out = static_cast<T*>(tensor) + sample * g.channels * g.plane;
  rows ? unstage_rows(in, out, g) : unstage_planes(in, out, g);
}

inline void stage(const EvoCall& call, const void* tensor, int64_t sample, float* out, const Geometry& g) {
  const bool rows = call.layout == EVO_CHANNELS_LAST || g.plane == 1;
  if (call.dtype == EVO_FLOAT32) stage_as<float>(tensor, sample, rows, out, g);
  if (call.dtype == EVO_FLOAT16) stage_as<Float16>(tensor, sample, rows, out, g);
  if (call.dtype == EVO_BFLOAT16) stage_as<Bfloat16>(tensor, sample, rows, out, g);
}
inline void unstage(const EvoCall& call, const float* in, void* tensor, int64_t sample, const Geometry& g) {
  const bool rows = call.layout == EVO_CHANNELS_LAST || g.plane == 1;
  if (call.dtype == EVO_FLOAT32) unstage_as<float>(in, tensor, sample, rows, g);
  if (call.dtype == EVO_FLOAT16) unstage_as<Float16>(in, tensor, sample, rows, g);
  if (call.dtype == EVO_BFLOAT16) unstage_as<Bfloat16>(in, tensor, sample, rows, g);
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
