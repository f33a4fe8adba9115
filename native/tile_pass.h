// One pass of a program over one sample: tiles are bound to registers, instructions run tile by tile, and what was
// summed up goes to the sample's rows.
#pragma once
#include "small_steps.h"
#include "tile_moments.h"

namespace evonorm {
namespace EVONORM_ISA {

// Where a sample's x, gy and out lie, in the order of the registers.
struct SampleTensors { float* base[FIRST_TEMPORARY]; };

struct BoundInstruction {
  TileFunction run;
  TileCall call;
};

// A pointer of a bound instruction that follows the tile through x, gy or out.
struct MovingPointer {
  const float** pointer;
  int32_t reg;
};

// A pass with its buffers, one per thread.
class TilePass {
 public:
  // `first`: nothing has touched the sample in this phase, so it comes from memory and is worth fetching ahead.
  void carve(const Context& c, const Pass& pass, bool first, Carver& carver) {
    const Geometry& g = c.geometry;
    pass_ = &pass;
    const LoopCode& code = g.by_plane ? pass.planes : pass.rows;
    code_ = c.compiled && code.single ? &code : nullptr;
    fetch_ahead_ = first && !g.staged;
    instructions_ = carver.take<BoundInstruction>(code_ ? 0 : pass.instructions.size());
    moving_ = carver.take<MovingPointer>(code_ ? 0 : pass.instructions.size() * (kMaxOperands + 1));
    registers_ = carver.take<Operand>(pass.registers());
    moments_ = carver.take<TileMomentSums>(pass.moments.size());
    spare_ = carver.take<float>(2 * larger(g.tile_channels, g.tile_planes) + 4 * kLanes);
    sums_ = carver.take<double>(pass.accumulators.size() * larger(g.tile_channels, g.tile_planes));
    if (!code_)
      for (int32_t r = FIRST_TEMPORARY; r < pass.first_load(); ++r) place(r, carver.take<float>(g.tile_floats()));
    small_ = carver.take<float>((pass.registers() - pass.first_load() + 3 * pass.moments.size()) * kSmallPitch);
    if (small_) place_small_operands();
    channels_expanded_ = false;
  }

  // Over the channels [begin, end) of one sample; a thread that shares samples with others always has the same ones.
  void run(const Context& c, int64_t sample, const SampleTensors& tensors, int64_t begin, int64_t end) {
    c.geometry.by_plane ? run_by_plane(c, sample, tensors, begin, end) : run_by_row(c, sample, tensors, begin, end);
  }

 private:
  void place(int32_t reg, float* buffer) {
    if (registers_) registers_[reg] = {buffer, kLanes, 0};
  }
  void place_small_operands() {
    float* small = small_;
    for (int32_t r = pass_->first_load(); r < pass_->registers(); ++r, small += kSmallPitch) place(r, small);
    for (size_t m = 0; m < pass_->moments.size(); ++m, small += 3 * kSmallPitch)
      moments_[m] = {small, small + kSmallPitch, small + 2 * kSmallPitch};
  }
  float* buffer(int32_t reg) const { return const_cast<float*>(registers_[reg].p); }
  size_t accumulators() const { return pass_->accumulators.size(); }

  void follow_tile(const float** pointer, int32_t reg) { moving_[moving_count_++] = {pointer, reg}; }

  // Fills the instructions' operands from the registers; x, gy and out are set tile by tile.
  void bind(int64_t width, int64_t jump, bool by_plane) {
    const int64_t accumulator_jump = by_plane ? kLanes : 0;
    moving_count_ = 0;
    planes_ = vectors_ = -1;
    for (size_t n = 0; n < pass_->instructions.size(); ++n) {
      const Instruction& i = pass_->instructions[n];
      TileCall& call = instructions_[n].call;
      instructions_[n].run = kTileFunctions[i.op][i.mode];
      call.width = width / kLanes;
      call.by_plane = by_plane;
      call.dense = true;
      call.out = i.dst == REGISTER_OUT ? nullptr : buffer(i.dst);
      if (i.dst == REGISTER_OUT) follow_tile(const_cast<const float**>(&call.out), i.dst);
      call.out_jump = i.mode == REDUCE ? accumulator_jump : jump;
      for (int k = 0; k < kMaxOperands && i.operands[k] >= 0; ++k) {
        Operand& operand = call.in[k];
        operand = i.operands[k] < FIRST_TEMPORARY ? Operand{nullptr, kLanes, 0} : registers_[i.operands[k]];
        if (i.operands[k] < FIRST_TEMPORARY) follow_tile(&operand.p, i.operands[k]);
        if (operand.step) operand.jump = jump;
        call.dense &= operand.step != 0;
      }
    }
  }

  // The size of the tiles that follow.
  void resize(int64_t planes, int64_t vectors, int64_t jump) {
    if (planes == planes_ && vectors == vectors_) return;
    planes_ = planes, vectors_ = vectors;
    for (size_t n = 0; n < pass_->instructions.size(); ++n) {
      TileCall& call = instructions_[n].call;
      // where nothing changes from plane to plane it is one long run
      const bool flat = planes > 1 && call.dense && pass_->instructions[n].mode != REDUCE;
      call.planes = flat ? 1 : planes;
      call.vectors = flat ? planes * jump / kLanes : vectors;
    }
  }

  // `next` is where the tile after this one begins: it is fetched while this one is computed.
  void run_tile(const SampleTensors& tensors, int64_t offset, int64_t next, int64_t floats) {
    for (int64_t m = 0; m < moving_count_; ++m) *moving_[m].pointer = tensors.base[moving_[m].reg] + offset;
    if (fetch_ahead_) {
      if (pass_->reads_x) prefetch(tensors.base[REGISTER_X] + next, floats);
      if (pass_->reads_gy) prefetch(tensors.base[REGISTER_GY] + next, floats);
      if (pass_->adds_to_out) prefetch(tensors.base[REGISTER_OUT] + next, floats);
    }
    for (size_t n = 0; n < pass_->instructions.size(); ++n) instructions_[n].run(instructions_[n].call);
  }
  static void prefetch(const float* p, int64_t floats) {
    for (int64_t i = 0; i < floats; i += 16) __builtin_prefetch(p + i);  // a cache line each; beyond the end is harmless
  }

  const float* moment_source(const TileMoment& m, const SampleTensors& tensors, int64_t offset) const {
    return m.reg < FIRST_TEMPORARY ? tensors.base[m.reg] + offset : buffer(m.reg);
  }

  void clear_accumulators(int64_t floats) {
    for (size_t a = 0; a < accumulators(); ++a)
      std::memset(buffer(pass_->first_accumulator() + a), 0, floats * sizeof(float));
  }

  // The pass as machine code over `runs` runs of vectors, the first at `offset`, with small operands from `small` on.
  void run_code(const SampleTensors& tensors, int64_t offset, float* small, int64_t runs, int64_t vectors,
                int64_t step) const {
    if (runs == 0 || vectors == 0) return;
    float* base[FIRST_TEMPORARY];
    for (int r = 0; r < FIRST_TEMPORARY; ++r) base[r] = tensors.base[r] ? tensors.base[r] + offset : nullptr;
    code_->run({base[REGISTER_X], base[REGISTER_GY], base[REGISTER_OUT], small, runs, vectors, step});
  }

  // ---- rows ----

  void run_by_row(const Context& c, int64_t sample, const SampleTensors& tensors, int64_t begin, int64_t last) {
    const Geometry& g = c.geometry;
    for (int64_t first = begin; first < last; first += g.tile_channels) {
      const int64_t channels = smaller(g.tile_channels, last - first);
      load_rows(c, sample, first, channels);
      if (!code_) bind(width_of(g, channels), 0, false);
      for (int64_t row = 0; row < g.plane; row += kRowsPerSum)
        sum_rows(c, sample, tensors, first, channels, row, smaller(row + kRowsPerSum, g.plane));
      store_rows(c, sample, first, channels);
    }
  }

  // The last block of channels may be narrower than the others.
  static int64_t width_of(const Geometry& g, int64_t channels) {
    return channels == g.tile_channels ? g.width : channels;
  }

  // Small operands repeated for every row of the tile or, for machine code, of a run; with one row per tile they are
  // read where they lie.
  void load_rows(const Context& c, int64_t sample, int64_t first, int64_t channels) {
    const Geometry& g = c.geometry;
    const int64_t length = code_ ? width_of(g, channels) : g.tile_rows * channels;
    for (size_t l = 0; l < pass_->loads.size(); ++l) {
      const int32_t slot = pass_->loads[l];
      const Kind kind = c.program.slots[slot].kind;
      if (kind == KIND_CONST || (!code_ && g.tile_rows == 1))
        registers_[pass_->first_load() + l] = c.row_operand(slot, sample, first);
      else if (kind == KIND_SAMPLE || !channels_expanded_)
        repeat_row(c.row(slot, sample) + first, channels, length, buffer(pass_->first_load() + l));
    }
    channels_expanded_ = g.tile_channels == g.row_channels;
  }

  void sum_rows(const Context& c, int64_t sample, const SampleTensors& tensors, int64_t first, int64_t channels,
                int64_t begin, int64_t end) {
    const Geometry& g = c.geometry;
    const int64_t valid = smaller(channels, g.channels - first), width = width_of(g, channels);
    clear_accumulators(g.accumulator_floats());
    if (pass_->instructions.empty()) take_row_moments(g, tensors, first, channels, begin, end);
    else if (code_) run_rows_as_code(g, tensors, first, channels, begin, end);
    else interpret_rows(g, tensors, first, channels, begin, end);
    for (size_t m = 0; m < pass_->moments.size(); ++m) {
      double* const mean = c.moment_row(pass_->moments[m].moment, sample) + first;
      finish_row_moments(moments_[m], width, channels, valid, (double)begin, (double)(end - begin),
                         pass_->moments[m].squares, spare_, mean, mean + g.pitch);
    }
    if (g.plane <= kRowsPerSum) return;
    for (size_t a = 0; a < accumulators(); ++a) {
      double* const sum = sums_ + a * g.tile_channels;
      const float* const part = folded_sum(a, width, channels);
      for (int64_t i = 0; i < valid; ++i) sum[i] = (begin ? sum[i] : 0) + part[i];
    }
  }
  const float* folded_sum(size_t a, int64_t width, int64_t channels) {
    const float* const lanes = buffer(pass_->first_accumulator() + a);
    if (width == channels) return lanes;
    fold_lanes(lanes, width, channels, spare_);
    return spare_;
  }

  // Without instructions there is nothing to keep in L1: all rows are one tile.
  void take_row_moments(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t channels, int64_t begin,
                        int64_t end) {
    const int64_t width = width_of(g, channels), rows = smaller(g.tile_rows, end - begin);
    const int64_t stride = channels == g.row_channels ? width : g.row_channels;
    for (size_t m = 0; m < pass_->moments.size(); ++m) {
      const float* const t = tensors.base[pass_->moments[m].reg] + begin * g.row_channels + first;
      start_row_moments(t, rows, g.row_channels, rows, channels, width, spare_, moments_[m]);
      add_row_moments(t, (end - begin) * channels, width, stride, moments_[m]);
    }
  }

  void interpret_rows(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t channels, int64_t begin,
                      int64_t end) {
    const int64_t width = width_of(g, channels);
    for (int64_t row = begin; row < end; row += g.tile_rows) {
      const int64_t rows = smaller(g.tile_rows, end - row), length = rows * channels;
      const int64_t offset = row * g.row_channels + first;
      resize(1, length / kLanes, 0);
      run_tile(tensors, offset, offset + g.tile_rows * g.row_channels, length);
      for (size_t m = 0; m < pass_->moments.size(); ++m) {
        const float* const t = moment_source(pass_->moments[m], tensors, offset);
        if (row == begin) start_row_moments(t, rows, channels, rows, channels, width, spare_, moments_[m]);
        add_row_moments(t, length, width, width, moments_[m]);
      }
    }
  }

  // With moments the first rows run twice: the first time to find the shifts.
  void run_rows_as_code(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t channels, int64_t begin,
                        int64_t end) {
    if (!pass_->moments.empty()) {
      const int64_t width = width_of(g, channels), rows = smaller(g.tile_rows, end - begin);
      for (const TileMoment& m : pass_->moments) clear_row_moments(width, moments_[&m - pass_->moments.data()]);
      run_row_range_as_code(g, tensors, first, channels, begin, begin + rows);
      for (size_t m = 0; m < pass_->moments.size(); ++m)
        start_row_moments(moments_[m].first, width / channels, channels, rows, channels, width, spare_, moments_[m]);
    }
    run_row_range_as_code(g, tensors, first, channels, begin, end);
  }
  void run_row_range_as_code(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t channels,
                             int64_t begin, int64_t end) {
    const int64_t width = width_of(g, channels), length = (end - begin) * channels, runs = length / width;
    const int64_t offset = begin * g.row_channels + first, between = g.row_channels - channels;
    run_code(tensors, offset, small_, runs, width / kLanes, between * sizeof(float));
    run_code(tensors, offset + runs * width, small_, 1, length % width / kLanes, 0);
  }

  void store_rows(const Context& c, int64_t sample, int64_t first, int64_t channels) {
    const int64_t valid = smaller(channels, c.geometry.channels - first);
    for (size_t a = 0; a < accumulators(); ++a) {
      float* const out = c.row(pass_->accumulators[a].slot, sample) + first;
      const bool add = pass_->accumulators[a].mode == ADD;
      if (c.geometry.plane <= kRowsPerSum) {
        const float* const sum = folded_sum(a, width_of(c.geometry, channels), channels);
        for (int64_t i = 0; i < valid; ++i) out[i] = add ? out[i] + sum[i] : sum[i];
      } else {
        const double* const sum = sums_ + a * c.geometry.tile_channels;
        for (int64_t i = 0; i < valid; ++i) out[i] = (float)(add ? out[i] + sum[i] : sum[i]);
      }
    }
  }

  // ---- planes ----

  void run_by_plane(const Context& c, int64_t sample, const SampleTensors& tensors, int64_t begin, int64_t last) {
    const Geometry& g = c.geometry;
    const int64_t most = code_ ? kSmallPitch / kLanes : g.tile_planes;
    for (int64_t first = begin; first < last; first += most) {
      const int64_t planes = smaller(most, last - first);
      load_planes(c, sample, first, planes);
      if (first == begin && !code_) bind(kLanes, g.tile_length, true);
      clear_accumulators(planes * kLanes);
      code_ ? run_planes_as_code(g, tensors, first, planes) : interpret_planes(g, tensors, first, planes);
      store_planes(c, sample, first, planes);
    }
  }

  void interpret_planes(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t planes) {
    for (int64_t at = 0; at < g.plane; at += g.tile_length) {
      const int64_t length = smaller(g.tile_length, g.plane - at), offset = first * g.plane + at;
      resize(planes, length / kLanes, g.tile_length);
      run_tile(tensors, offset, offset + planes * length, planes * length);
      for (size_t m = 0; m < pass_->moments.size(); ++m) {
        const float* const t = moment_source(pass_->moments[m], tensors, offset);
        if (at == 0) start_plane_moments(t, planes, length, moments_[m]);
        add_plane_moments(t, planes, length, moments_[m]);
      }
    }
  }

  // As for rows, the beginning of a plane runs twice where moments are taken.
  void run_planes_as_code(const Geometry& g, const SampleTensors& tensors, int64_t first, int64_t planes) {
    const int64_t vectors = g.plane / kLanes, beginning = smaller(vectors, 4), offset = first * g.plane;
    for (int64_t p = 0; p < planes && !pass_->moments.empty(); ++p) {
      for (size_t m = 0; m < pass_->moments.size(); ++m) clear_plane_moments(p, moments_[m]);
      run_code(tensors, offset + p * g.plane, small_ + p * kLanes, 1, beginning, 0);
      for (size_t m = 0; m < pass_->moments.size(); ++m) shift_plane_moments(p, beginning, moments_[m]);
    }
    run_code(tensors, offset, small_, planes, vectors, kLanes * sizeof(float));
  }

  void load_planes(const Context& c, int64_t sample, int64_t first, int64_t planes) {
    for (size_t l = 0; l < pass_->loads.size(); ++l) {
      const int32_t slot = pass_->loads[l];
      Operand& reg = registers_[pass_->first_load() + l];
      if (c.program.slots[slot].kind == KIND_CONST) {
        reg = c.row_operand(slot, sample, 0);
        continue;
      }
      float* const out = buffer(pass_->first_load() + l);
      reg.step = 0, reg.jump = kLanes;
      const float* const row = c.row(slot, sample) + first;
      for (int64_t p = 0; p < planes; ++p) store(out + p * kLanes, all(row[p]));
    }
  }

  void store_planes(const Context& c, int64_t sample, int64_t first, int64_t planes) {
    for (size_t m = 0; m < pass_->moments.size(); ++m) {
      double* const mean = c.moment_row(pass_->moments[m].moment, sample) + first;
      finish_plane_moments(moments_[m], planes, (double)c.geometry.plane, mean, mean + c.geometry.pitch);
    }
    for (size_t a = 0; a < accumulators(); ++a) {
      const float* const sums = buffer(pass_->first_accumulator() + a);
      float* const out = c.row(pass_->accumulators[a].slot, sample) + first;
      const bool add = pass_->accumulators[a].mode == ADD;
      for (int64_t p = 0; p < planes; ++p) {
        const float sum = lane_sum(load(sums + p * kLanes));
        out[p] = add ? out[p] + sum : sum;
      }
    }
  }

  const Pass* pass_;
  const LoopCode* code_;  // null: interpreted
  float* small_;
  BoundInstruction* instructions_;
  Operand* registers_;
  TileMomentSums* moments_;
  MovingPointer* moving_;
  int64_t moving_count_, planes_, vectors_;
  float* spare_;
  double* sums_;
  bool channels_expanded_, fetch_ahead_;
};

}  // namespace EVONORM_ISA
}  // namespace evonorm
