// Moments over the batches of several processes: what a phase needs of the others, between two parallel regions.
//
// In forward nothing in a phase comes before its batch moments: what they are of was complete a phase earlier. In
// backward the other channel steps come first, since they bring the moments' adjoints; what a batch adjoint gives is
// read by the passes behind it only.
#pragma once
#include "small_steps.h"

namespace evonorm {
namespace EVONORM_ISA {

inline bool exchanges(const Context& c, const Phase& phase) { return c.call.exchange && phase.batch_moments > 0; }

inline int64_t exchanged_numbers(const Context& c) {
  int64_t most = 0;
  for (const Phase& phase : c.phases) most = larger(most, phase.batch_moments);
  return c.call.exchange ? 1 + 2 * most * c.geometry.pitch : 0;
}

inline bool exchange(const Context& c, int64_t count) { return c.call.exchange(c.call.exchange_user, c.exchanged, count) == 0; }

inline bool exchange_moments(const Context& c, const Phase& phase, double* spare) {
  const int64_t pitch = c.geometry.pitch, channels = c.geometry.channels, count = 1 + 2 * phase.batch_moments * pitch;
  std::memset(c.exchanged, 0, count * sizeof(double));
  c.exchanged[0] = elements_here(c);
  double* row = c.exchanged + 1;
  for (const Step& step : phase.channels) {
    if (step.type != BATCH_MOMENT) continue;
    batch_planes(c, step, 0, channels, spare, row, row + pitch);
    row += 2 * pitch;
  }
  if (!exchange(c, count)) return false;
  row = c.exchanged + 1;
  for (const Step& step : phase.channels) {
    if (step.type == BATCH_MOMENT) {
      finish_batch_moment(c, step, 0, channels, {row, row + pitch});
      row += 2 * pitch;
    } else {
      run_channel_step(c, step, 0, pitch, spare);
    }
  }
  return true;
}

inline bool exchange_adjoints(const Context& c, const Phase& phase, double* spare) {
  const int64_t pitch = c.geometry.pitch, channels = c.geometry.channels, count = phase.batch_moments * pitch;
  std::memset(c.exchanged, 0, count * sizeof(double));
  for (const Step& step : phase.channels)
    if (step.type != BATCH_ADJOINT) run_channel_step(c, step, 0, pitch, spare);
  double* row = c.exchanged;
  for (const Step& step : phase.channels) {
    if (step.type != BATCH_ADJOINT) continue;
    for (int64_t i = 0; i < channels; ++i) row[i] = c.slots[step.adjoint][i];
    row += pitch;
  }
  if (!exchange(c, count)) return false;
  row = c.exchanged;
  for (const Step& step : phase.channels) {
    if (step.type != BATCH_ADJOINT) continue;
    batch_adjoint(c, step, 0, channels, row, c.call.everywhere);
    row += pitch;
  }
  return true;
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
