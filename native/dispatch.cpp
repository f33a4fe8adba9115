// The C entry points: picks the instruction set once, checks what a call brings, keeps forked children single-threaded.
#include <pthread.h>

#include <atomic>
#include <cstring>

#include "backend.h"

namespace {

using namespace evonorm;

struct Backend {
  const char* name;
  RunFunction run;
  bool compiled, available;
};

const Backend* backends(size_t& count) {
  static const Backend all[] = {
#if defined(__x86_64__)
      {"compiled", avx2::run, true, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
      {"avx512", avx512::run, false,
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")},
      {"avx2", avx2::run, false, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
      {"portable", portable::run, false, true},
  };
  count = sizeof all / sizeof all[0];
  return all;
}

const Backend* best_backend() {
  size_t count;
  const Backend* backend = backends(count);
  while (!backend->available) ++backend;
  return backend;
}

std::atomic<const Backend*> g_backend{nullptr};
std::atomic<bool> g_forked{false};  // OpenMP's threads do not survive a fork; waiting for them would hang

const Backend* current_backend() {
  const Backend* backend = g_backend.load(std::memory_order_acquire);
  if (backend) return backend;
  pthread_atfork(nullptr, nullptr, [] { g_forked = true; });
  backend = best_backend();
  g_backend.store(backend, std::memory_order_release);
  return backend;
}

int32_t run(const EvoProgram* program, const EvoCall* call, bool backward) {
  if (!program || !call) return EVO_BAD_PROGRAM;
  const bool empty = call->exchange && call->batch == 0;
  if (!empty && (!call->x || !call->out || (backward && !call->gy))) return EVO_BAD_SHAPE;
  const Backend* const backend = current_backend();
  const int threads = g_forked || call->threads < 1 ? 1 : call->threads;
  return backend->run(*program, *call, backward, backend->compiled, threads > 256 ? 256 : threads);
}

}  // namespace

extern "C" int32_t evo_forward(const EvoProgram* program, const EvoCall* call) { return run(program, call, false); }
extern "C" int32_t evo_backward(const EvoProgram* program, const EvoCall* call) { return run(program, call, true); }

extern "C" int64_t evo_saved_floats(const EvoProgram* program, int64_t batch, int64_t channels) {
  const int64_t pitch = (channels + 15) / 16 * 16;
  int64_t floats = 0;
  for (const Slot& slot : program->slots)
    if (slot.home == HOME_SAVED) floats += slot.kind == KIND_SAMPLE ? batch * pitch : pitch;
  return floats;
}

extern "C" const char* evo_isa() { return current_backend()->name; }

extern "C" int32_t evo_force_isa(const char* name) {
  current_backend();
  size_t count;
  const Backend* const all = backends(count);
  for (size_t i = 0; i < count; ++i)
    if (!std::strcmp(all[i].name, name) && all[i].available) {
      g_backend = &all[i];
      return EVO_OK;
    }
  return EVO_BAD_SHAPE;
}
