// Runs a program: phases one after the other, samples of a phase split over the threads, channels at the barriers.
//
// Sums over the batch are taken from per-sample rows in a fixed order, so results do not depend on the thread count.
#pragma once
#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend.h"
#include "exchange.h"
#include "staging.h"
#include "tile_pass.h"

namespace evonorm {
namespace EVONORM_ISA {

constexpr int64_t kFloatsPerThread = 16384;         // less work than this is not worth a second thread
constexpr size_t kKeptBytes = size_t(64) << 20;     // a larger workspace is given back after the call

// One thread's passes and buffers for the current phase.
struct Worker {
  TilePass* passes;
  float* staged[FIRST_TEMPORARY];
  double* spare;

  void carve(const Context& c, const Phase& phase, Carver& carver) {
    spare = carver.take<double>(4 * c.geometry.pitch);
    for (float*& each : staged) each = c.geometry.staged ? carver.take<float>(c.geometry.sample_floats()) : nullptr;
    passes = carver.take<TilePass>(phase.stages.size());
    bool first = true;
    for (size_t i = 0; i < phase.stages.size(); ++i) {
      if (!phase.stages[i].pass.present) continue;
      TilePass measured;
      (passes ? passes[i] : measured).carve(c, phase.stages[i].pass, first, carver);
      first = false;
    }
  }
};

inline size_t worker_bytes(const Context& c) {
  size_t most = 0;
  for (const Phase& phase : c.phases) {
    Carver carver(nullptr);
    Worker().carve(c, phase, carver);
    most = carver.used() > most ? carver.used() : most;
  }
  return most;
}

inline void carve_shared(Context& c, Carver& carver, bool backward) {
  const Geometry& g = c.geometry;
  c.slots = carver.take<float*>(c.program.slots.size());
  place_slots(c, carver);
  c.moments = carver.take<double>(backward ? 0 : c.program.moments * g.batch * 2 * g.pitch);
  int phases_that_write = 0;
  for (const Phase& phase : c.phases) phases_that_write += phase.writes_out;
  const bool keep_wide = c.call.dtype != EVO_FLOAT32 && phases_that_write > 1;
  c.exchanged = carver.take<double>(exchanged_numbers(c));
  c.wide_out = keep_wide ? carver.take<float>(g.batch * g.sample_floats()) : nullptr;
}

// Staged tensors of one sample, or the sample where it lies.
inline SampleTensors open_sample(const Context& c, const Phase& phase, const Worker& w, int64_t sample) {
  const Geometry& g = c.geometry;
  const EvoCall& call = c.call;
  SampleTensors t;
  const void* const tensors[] = {call.x, call.gy, call.out};
  const bool read[] = {phase.reads_x, phase.reads_gy, phase.adds_to_out};
  for (int r = 0; r < FIRST_TEMPORARY; ++r) {
    if (!g.staged) {
      float* const base = static_cast<float*>(const_cast<void*>(tensors[r]));
      t.base[r] = base ? base + sample * g.sample_floats() : nullptr;
      continue;
    }
    const bool wide = r == REGISTER_OUT && c.wide_out;
    t.base[r] = wide ? c.wide_out + sample * g.sample_floats() : w.staged[r];
    if (read[r] && !wide) {
      stage(call, tensors[r], sample, t.base[r], g);
      clear_padding(t.base[r], g);
    }
  }
  return t;
}

inline void close_sample(const Context& c, const Phase& phase, const SampleTensors& t, int64_t sample) {
  if (!c.geometry.staged || !phase.writes_out) return;
  if (c.wide_out)
    for (const Phase* later = &phase + 1; later < c.phases.data() + c.phases.size(); ++later)
      if (later->writes_out) return;
  unstage(c.call, t.base[REGISTER_OUT], c.call.out, sample, c.geometry);
}

inline void run_samples(const Context& c, const Phase& phase, Worker& w, int64_t begin, int64_t end, bool backwards) {
  const Geometry& g = c.geometry;
  for (int64_t k = begin; k < end; ++k) {
    const int64_t sample = backwards ? begin + end - 1 - k : k;  // the end of the last phase is still in cache
    const SampleTensors tensors = open_sample(c, phase, w, sample);
    for (size_t i = 0; i < phase.stages.size(); ++i) {
      for (const Step& step : phase.stages[i].rows) run_row_step(c, step, sample, w.spare);
      if (phase.stages[i].pass.present) w.passes[i].run(c, sample, tensors, 0, g.by_plane ? g.channels : g.row_channels);
    }
    close_sample(c, phase, tensors, sample);
  }
}

// All samples, some channels of each. Row steps look at whole rows, so the first thread does them for all.
inline void run_shared_samples(const Context& c, const Phase& phase, Worker& w, int thread, int threads) {
  const int64_t unit = shared_channels(c.geometry), units = c.geometry.channels / unit;
  const int64_t begin = units * thread / threads * unit, end = units * (thread + 1) / threads * unit;
  for (int64_t sample = 0; sample < c.geometry.batch; ++sample) {
    const SampleTensors tensors = open_sample(c, phase, w, sample);
    for (size_t i = 0; i < phase.stages.size(); ++i) {
      if (!phase.stages[i].rows.empty()) {
#pragma omp barrier
        if (thread == 0)
          for (const Step& step : phase.stages[i].rows) run_row_step(c, step, sample, w.spare);
#pragma omp barrier
      }
      if (phase.stages[i].pass.present) w.passes[i].run(c, sample, tensors, begin, end);
    }
  }
}

// Numbers below the normal range count as zero while a thread runs: they are slow, and no result depends on them.
class FlushDenormals {
#if defined(__SSE2__)
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#endif
};

// The phases of a parallel region; the channel steps of the first may have been done between two of them.
struct Phases {
  size_t begin, end;
  bool channels_done;
};

inline void run_thread(const Context& c, const Phases& phases, char* memory, int thread, int threads) {
  const FlushDenormals flushed;
  const int64_t vectors = c.geometry.pitch / kPitchFloats;
  const int64_t first = vectors * thread / threads * kPitchFloats, last = vectors * (thread + 1) / threads * kPitchFloats;
  const int64_t begin = c.geometry.batch * thread / threads, end = c.geometry.batch * (thread + 1) / threads;
  for (size_t p = phases.begin; p < phases.end; ++p) {
    const Phase& phase = c.phases[p];
    Carver carver(memory);
    Worker worker;
    worker.carve(c, phase, carver);
    if (!phase.channels.empty() && !(p == phases.begin && phases.channels_done)) {
      if (threads > 1 && p > phases.begin) {
#pragma omp barrier
      }
      if (first < last)
        for (const Step& step : phase.channels) run_channel_step(c, step, first, last, worker.spare);
      if (threads > 1) {
#pragma omp barrier
      }
    }
    if (c.shared) run_shared_samples(c, phase, worker, thread, threads);
    else run_samples(c, phase, worker, begin, end, p % 2 == 1);
  }
}

// Whether the threads can take channels of a sample instead of whole samples; the interpreter's rows are whole.
inline bool can_share_samples(const Context& c) {
  const Geometry& g = c.geometry;
  bool possible = !g.staged && g.channels % shared_channels(g) == 0;
  for (const Phase& phase : c.phases)
    for (const Stage& stage : phase.stages)
      possible &= g.by_plane || stage.pass.instructions.empty() || (c.compiled && stage.pass.rows.single);
  return possible;
}

// Shares out samples, or the channels of each where there are fewer samples than threads.
inline int worthwhile_threads(Context& c, int threads) {
#ifdef _OPENMP
  const Geometry& g = c.geometry;
  const int64_t most = smaller(threads, g.batch * g.channels * g.plane / kFloatsPerThread);
  c.shared = g.batch < most && g.channels / shared_channels(g) > g.batch && can_share_samples(c);
  return (int)larger(1, smaller(most, c.shared ? g.channels / shared_channels(g) : g.batch));
#else
  (void)c, (void)threads;
  return 1;
#endif
}

inline void run_region(const Context& c, const Phases& phases, char* memory, size_t each, int threads) {
  if (threads == 1) return run_thread(c, phases, memory, 0, 1);
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num(), count = omp_get_num_threads();
    run_thread(c, phases, memory + each * thread, thread, count);
  }
#endif
}

// One region with all phases; where processes exchange moments, one region up to each exchange. False if one failed.
inline bool run_regions(const Context& c, char* memory, size_t each, int threads, bool backward) {
  for (size_t begin = 0, end; begin < c.phases.size(); begin = end) {
    const bool first = exchanges(c, c.phases[begin]);
    end = begin + 1;
    while (end < c.phases.size() && !exchanges(c, c.phases[end])) ++end;
    if (first) {
      const FlushDenormals flushed;
      double* const spare = reinterpret_cast<double*>(memory);  // where the first worker has it, too
      if (!(backward ? exchange_adjoints : exchange_moments)(c, c.phases[begin], spare)) return false;
    }
    run_region(c, {begin, end, first}, memory, each, threads);
  }
  return true;
}

int32_t run(const EvoProgram& program, const EvoCall& call, bool backward, bool compiled, int threads) {
  static thread_local Block block;
  Context c{program, call, backward ? program.backward : program.forward, compiled, false, Geometry{}, nullptr, nullptr,
            nullptr, nullptr};
  if (!find_geometry(call, c.geometry)) return EVO_BAD_SHAPE;
  threads = worthwhile_threads(c, threads);
  Carver measure(nullptr);
  carve_shared(c, measure, backward);
  const size_t each = (worker_bytes(c) + 4095) / 4096 * 4096, shared = (measure.used() + 4095) / 4096 * 4096;
  char* const memory = block.reserve(shared + each * threads);
  if (!memory) return EVO_NO_MEMORY;
  Carver carver(memory);
  carve_shared(c, carver, backward);
  fill_slots(c);
  const bool whole = run_regions(c, memory + shared, each, threads, backward);
  if (whole) deliver_slots(c, backward);
  block.release_if_larger_than(kKeptBytes);
  return whole ? EVO_OK : EVO_NO_EXCHANGE;
}

}  // namespace EVONORM_ISA
}  // namespace evonorm
