// Steps on small values: rows of one sample, or a range of channels over all samples.
//
// Moments of a set merge the per-plane means and variances: with m the mean of the means, the variance is the mean of
// variance_i + (mean_i - m)^2 (Chan et al.), in double. Adjoint of a moment A over N elements, S = sum(adjoint) / N:
// an element t gets S from a mean, t * S / A from an rms, (t - mean) * S / A from a std; S or S / A is the coefficient.
#pragma once
#include "context.h"

namespace evonorm {
namespace EVONORM_ISA {

// The mean, mean of squares or variance. A set that holds inf or NaN has no finite mean; "variance" then is the mean
// of squares, and the variance proper NaN, as in two-pass arithmetic.
EVONORM_INLINE double raw_moment(Moment moment, double mean, double variance) {
  if (moment == MEAN) return mean;
  const double square = moment == RMS ? mean * mean : 0.0, otherwise = moment == RMS ? variance : NAN;
  return mean - mean == 0 ? variance + square : otherwise;
}
EVONORM_INLINE float finish_moment(Moment moment, double mean, double variance, float eps) {
  if (moment == MEAN) return (float)mean;
  return (float)std::sqrt(raw_moment(moment, mean, variance) + eps);
}

// exp, log, sigmoid and tanh of a row are rounded once, from double: a row is short, and what is one unit in the last
// place there may be subtracted from x and divided by.
template <class F> void run_in_double(const TileCall& t, F f) {
  for (int64_t i = 0; i < t.vectors * kLanes; ++i) {
    const float* const in = t.in[0].p + i / kLanes * t.in[0].step + i % kLanes;
    t.out[i] = (float)f((double)*in);
  }
}
inline bool run_precisely(int32_t op, const TileCall& t) {
  if (op == OP_exp) run_in_double(t, [](double v) { return std::exp(v); });
  else if (op == OP_tanh) run_in_double(t, [](double v) { return std::tanh(v); });
  else if (op == OP_sigmoid) run_in_double(t, [](double v) { return 1 / (1 + std::exp(-v)); });
  else if (op == OP_log)
    run_in_double(t, [](double v) { return v == 0 ? 0 : std::copysign(1.0, v) * std::log(std::fabs(v) + kLogSqrtEps); });
  else
    return false;
  return true;
}

inline void elementwise_step(const Context& c, const Instruction& i, int64_t sample, int64_t first, int64_t last) {
  TileCall call{};
  call.planes = 1;
  call.vectors = (last - first) / kLanes;
  call.dense = true;
  call.out = c.row(i.dst, sample) + first;
  for (int k = 0; k < kMaxOperands && i.operands[k] >= 0; ++k) {
    call.in[k] = c.row_operand(i.operands[k], sample, first);
    call.dense &= call.in[k].step != 0;
  }
  if (i.mode != WRITE || !run_precisely(i.op, call)) kTileFunctions[i.op][i.mode](call);
}

EVONORM_INLINE int64_t channels_per_set(const Context& c, IndexSet set) {
  return set == SET_WHC ? c.geometry.channels : set == SET_WHCG ? c.geometry.channels / c.geometry.groups : 1;
}

// Means and variances over the plane of what a moment aggregates; a small source varies not inside the plane.
struct PlaneMoments {
  const double* mean;
  const double* variance;
};
inline PlaneMoments plane_moments(const Context& c, const Step& s, int64_t sample, double* spare) {
  const int64_t pitch = c.geometry.pitch;
  if (s.accumulated >= 0) {
    const double* const row = c.moment_row(s.accumulated, sample);
    return {row, row + pitch};
  }
  const bool constant = c.program.slots[s.source].kind == KIND_CONST;
  const float* const source = c.row(s.source, sample);
  for (int64_t i = 0; i < c.geometry.channels; ++i) {
    const double v = source[constant ? 0 : i];
    spare[i] = v;
    spare[pitch + i] = v - v == 0 ? 0 : v * v;
  }
  return {spare, spare + pitch};
}

template <Moment moment>
void finish_planes(const PlaneMoments& in, int64_t channels, float eps, float* value) {
#pragma omp simd
  for (int64_t i = 0; i < channels; ++i) value[i] = finish_moment(moment, in.mean[i], in.variance[i], eps);
}
inline void finish_planes(Moment moment, const PlaneMoments& in, int64_t channels, float eps, float* value) {
  if (moment == MEAN) finish_planes<MEAN>(in, channels, eps, value);
  if (moment == RMS) finish_planes<RMS>(in, channels, eps, value);
  if (moment == STD) finish_planes<STD>(in, channels, eps, value);
}

// Sums of `size` numbers each, as map(i) gives them; the compiler's vectors pay for larger sets only.
template <class Map> EVONORM_INLINE double sum_of(int64_t size, const Map& map) {
  double sum = 0;
  if (size < 8) {
    for (int64_t i = 0; i < size; ++i) sum += map(i);
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += map(i);
  return sum;
}

// Mean and variance of every set of `size` planes.
inline void merge_planes(const PlaneMoments& in, int64_t sets, int64_t size, double* mean, double* variance) {
  const double share = 1.0 / size;
  for (int64_t set = 0; set < sets; ++set) {
    const double* const means = in.mean + set * size;
    const double* const variances = in.variance + set * size;
    const double m = sum_of(size, [=](int64_t i) { return means[i]; }) * share;
    const bool finite = m - m == 0;
    const double v = sum_of(size, [=](int64_t i) {
      const double distance = finite ? means[i] - m : 0;
      return variances[i] + distance * distance;
    });
    mean[set] = m, variance[set] = v * share;
  }
}
// From one number per set, at the beginning of the row, to one per channel.
inline void spread_over_sets(float* row, int64_t sets, int64_t size) {
  for (int64_t set = sets - 1; set >= 0; --set) {
    const float number = row[set];
    for (int64_t i = 0; i < size; ++i) row[set * size + i] = number;
  }
}

inline void sample_moment(const Context& c, const Step& s, int64_t sample, double* spare) {
  PlaneMoments in = plane_moments(c, s, sample, spare);
  const int64_t size = channels_per_set(c, s.index_set), sets = c.geometry.channels / size;
  if (size > 1) {
    double* const mean = spare + 2 * c.geometry.pitch;
    double* const variance = mean + c.geometry.pitch;
    merge_planes(in, sets, size, mean, variance);
    in = {mean, variance};
  }
  float* const value = c.row(s.value, sample);
  finish_planes(s.moment, in, sets, c.program.eps, value);
  if (size > 1) spread_over_sets(value, sets, size);
  if (s.mean < 0) return;
  float* const mean = c.row(s.mean, sample);
  for (int64_t i = 0; i < sets; ++i) mean[i] = (float)in.mean[i];
  if (size > 1) spread_over_sets(mean, sets, size);
}

// Means and variances of some channels over this process's batch; of none they are zero.
inline void batch_planes(const Context& c, const Step& s, int64_t first, int64_t last, double* spare, double* m, double* v) {
  const int64_t batch = c.geometry.batch;
  for (int64_t i = first; i < last; ++i) m[i] = v[i] = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const PlaneMoments in = plane_moments(c, s, b, spare);
    for (int64_t i = first; i < last; ++i) m[i] += in.mean[i];
  }
  for (int64_t i = first; i < last && batch; ++i) m[i] /= batch;
  for (int64_t b = 0; b < batch; ++b) {
    const PlaneMoments in = plane_moments(c, s, b, spare);
    for (int64_t i = first; i < last; ++i) {
      const double distance = m[i] - m[i] == 0 ? in.mean[i] - m[i] : 0;
      v[i] += in.variance[i] + distance * distance;
    }
  }
  for (int64_t i = first; i < last && batch; ++i) v[i] /= batch;
}

inline void finish_batch_moment(const Context& c, const Step& s, int64_t first, int64_t last, const PlaneMoments& of) {
  const float eps = c.program.eps;
  const double *const m = of.mean, *const v = of.variance;
  float* const value = c.slots[s.value];
  for (int64_t i = first; i < last; ++i) value[i] = finish_moment(s.moment, m[i], v[i], eps);
  if (s.mean >= 0)
    for (int64_t i = first; i < last; ++i) c.slots[s.mean][i] = (float)m[i];
  if (s.exported < 0) return;
  for (int64_t i = first; i < last; ++i)
    c.slots[s.exported][i] = (float)raw_moment(s.moment, m[i], v[i]);
}

inline void batch_moment(const Context& c, const Step& s, int64_t first, int64_t last, double* spare) {
  double *const m = spare + 2 * c.geometry.pitch, *const v = m + c.geometry.pitch;
  batch_planes(c, s, first, last, spare, m, v);
  finish_batch_moment(c, s, first, last, {m, v});
}

EVONORM_INLINE float adjoint_coefficient(Moment moment, double share, float value) {
  return (float)(moment == MEAN ? share : share / value);
}

// What flows into a small source, `count` elements behind each of its numbers.
inline void add_to_source(const Context& c, const Step& s, int64_t sample, int64_t first, int64_t last, double count) {
  float* const out = c.row(s.source_adjoint, sample);
  const bool constant = c.program.slots[s.source].kind == KIND_CONST;
  const float* const source = c.row(s.source, sample);
  const float* const coefficient = c.row(s.coefficient, sample);
  const float* const mean = s.mean >= 0 ? c.row(s.mean, sample) : nullptr;
  for (int64_t i = first; i < last; ++i) {
    const float t = source[constant ? 0 : i];
    const float factor = s.moment == MEAN ? 1.0f : s.moment == RMS ? t : t - mean[i];
    const float flow = (float)(count * factor * coefficient[i]);
    out[i] = s.mode == ADD ? out[i] + flow : flow;
  }
}

inline void sample_adjoint(const Context& c, const Step& s, int64_t sample) {
  const int64_t channels = c.geometry.channels, size = channels_per_set(c, s.index_set);
  const float* const adjoint = c.row(s.adjoint, sample);
  const float* const value = c.row(s.value, sample);
  float* const coefficient = c.row(s.coefficient, sample);
  const double share = 1.0 / ((double)c.geometry.plane * size);
  if (size == 1) {
    for (int64_t i = 0; i < channels; ++i) coefficient[i] = adjoint_coefficient(s.moment, adjoint[i] * share, value[i]);
  } else {
    for (int64_t first = 0; first < channels; first += size) {
      const double sum = sum_of(size, [=](int64_t i) { return adjoint[first + i]; });
      const float k = adjoint_coefficient(s.moment, sum * share, value[first]);
      for (int64_t i = first; i < first + size; ++i) coefficient[i] = k;
    }
  }
  if (s.source_adjoint >= 0) add_to_source(c, s, sample, 0, channels, (double)c.geometry.plane);
}

// `Adjoints` are floats of this process's batch, or doubles of all processes with `elements` behind each.
template <class Adjoints>
void batch_adjoint(const Context& c, const Step& s, int64_t first, int64_t last, const Adjoints* adjoint, double elements) {
  const float* const value = c.slots[s.value];
  float* const coefficient = c.slots[s.coefficient];
  const double share = 1.0 / elements;
  for (int64_t i = first; i < last; ++i) coefficient[i] = adjoint_coefficient(s.moment, adjoint[i] * share, value[i]);
  if (s.source_adjoint < 0) return;
  if (c.program.slots[s.source_adjoint].kind == KIND_CHANNEL) {
    add_to_source(c, s, 0, first, last, (double)c.geometry.plane * c.geometry.batch);
  } else {
    for (int64_t b = 0; b < c.geometry.batch; ++b) add_to_source(c, s, b, first, last, (double)c.geometry.plane);
  }
}

inline void sum_batch(const Context& c, const Step& s, int64_t first, int64_t last, double* spare) {
  for (int64_t i = first; i < last; ++i) spare[i] = 0;
  for (int64_t b = 0; b < c.geometry.batch; ++b) {
    const float* const row = c.row(s.source, b);
    for (int64_t i = first; i < last; ++i) spare[i] += row[i];
  }
  float* const out = c.slots[s.value];
  // rounded before it is added: sums of opposite sign cancel exactly
  for (int64_t i = first; i < last; ++i) out[i] = s.mode == ADD ? out[i] + (float)spare[i] : (float)spare[i];
}

EVONORM_INLINE double elements_here(const Context& c) { return (double)c.geometry.plane * c.geometry.batch; }

// `spare` has room for four rows of doubles.
inline void run_row_step(const Context& c, const Step& s, int64_t sample, double* spare) {
  if (s.type == ELEMENTWISE) elementwise_step(c, s.elementwise, sample, 0, round_up(c.geometry.channels, kLanes));
  if (s.type == SAMPLE_MOMENT) sample_moment(c, s, sample, spare);
  if (s.type == SAMPLE_ADJOINT) sample_adjoint(c, s, sample);
}

// The range is whole vectors; the padding of a row may hold anything.
inline void run_channel_step(const Context& c, const Step& s, int64_t first, int64_t last, double* spare) {
  const int64_t valid = smaller(last, c.geometry.channels);
  if (s.type == ELEMENTWISE) elementwise_step(c, s.elementwise, 0, first, last);
  if (s.type == BATCH_MOMENT) batch_moment(c, s, first, valid, spare);
  if (s.type == BATCH_ADJOINT) batch_adjoint(c, s, first, valid, c.slots[s.adjoint], elements_here(c));
  if (s.type == SUM_BATCH) sum_batch(c, s, first, valid, spare);
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
