// What all parts of one call share: the shape, where every slot lies, the accumulated moments.
#pragma once
#include "geometry.h"
#include "workspace.h"

namespace evonorm {
namespace EVONORM_ISA {

struct Context {
  const EvoProgram& program;
  const EvoCall& call;
  const std::vector<Phase>& phases;
  bool compiled;     // machine code, where a pass has it
  bool shared;       // fewer samples than threads: each thread takes some channels of every sample
  Geometry geometry;
  float** slots;     // where each slot begins
  double* moments;   // (moment, batch, {mean, variance}, pitch) over the plane
  float* wide_out;   // half precision: out between phases, staged form; else null
  double* exchanged; // what the processes of a call exchange

  // The row of a slot for one sample; a constant is one vector.
  float* row(int32_t slot, int64_t sample) const {
    return slots[slot] + (program.slots[slot].kind == KIND_SAMPLE ? sample * geometry.pitch : 0);
  }
  int64_t rows(const Slot& slot) const { return slot.kind == KIND_SAMPLE ? geometry.batch : 1; }
  double* moment_row(int32_t moment, int64_t sample) const {
    return moments + (moment * geometry.batch + sample) * 2 * geometry.pitch;
  }
  Operand row_operand(int32_t slot, int64_t sample, int64_t first) const {
    if (program.slots[slot].kind == KIND_CONST) return {slots[slot], 0, 0};
    return {row(slot, sample) + first, kLanes, 0};
  }
};

// Small values: those to keep in the caller's buffer, if it gave one, the others cut from the workspace.
inline void place_slots(Context& c, Carver& carver) {
  const Geometry& g = c.geometry;
  float* saved = c.call.saved;
  for (size_t i = 0; i < c.program.slots.size(); ++i) {
    const Slot& slot = c.program.slots[i];
    const int64_t floats = slot.kind == KIND_CONST ? kPitchFloats : slot.kind == KIND_CHANNEL ? g.pitch : g.batch * g.pitch;
    const bool keep = slot.home == HOME_SAVED && saved;
    float* const place = keep ? saved : carver.take<float>(floats);
    if (keep) saved += floats;
    if (c.slots) c.slots[i] = place;
  }
}

// Parameters and constants into their slots; padding is zero.
inline void fill_slots(const Context& c) {
  const int64_t channels = c.geometry.channels;
  for (size_t i = 0; i < c.program.slots.size(); ++i) {
    const Slot& slot = c.program.slots[i];
    if (slot.home == HOME_CONST)
      for (int64_t k = 0; k < kPitchFloats; ++k) c.slots[i][k] = slot.constant;
    if (slot.home != HOME_PARAMETER) continue;
    const float* const parameter = c.call.parameters[slot.index];
    for (int64_t row = 0; row < c.rows(slot); ++row) {
      std::memset(c.slots[i] + row * c.geometry.pitch, 0, c.geometry.pitch * sizeof(float));
      std::memcpy(c.slots[i] + row * c.geometry.pitch, parameter + row * channels, channels * sizeof(float));
    }
  }
}

// Gradients and exported moments to the caller.
inline void deliver_slots(const Context& c, bool backward) {
  const int64_t channels = c.geometry.channels;
  const size_t bytes = channels * sizeof(float);
  for (size_t i = 0; i < c.program.slots.size(); ++i) {
    const Slot& slot = c.program.slots[i];
    if (slot.home == HOME_GRAD && backward)
      for (int64_t row = 0; row < c.rows(slot); ++row)
        std::memcpy(c.call.gradients[slot.index] + row * channels, c.slots[i] + row * c.geometry.pitch, bytes);
    if (slot.home == HOME_EXPORT && !backward)
      std::memcpy(c.call.exports + slot.index * channels, c.slots[i], bytes);
  }
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
