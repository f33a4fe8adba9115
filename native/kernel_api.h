// The C ABI of the fused layer kernel. No torch, no Python: see python_module.cpp for the binding.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

enum EvoStatus : int32_t {
  EVO_OK = 0,
  EVO_BAD_PROGRAM = 1,   // the encoding does not hold together
  EVO_TOO_LARGE = 2,     // well formed, but beyond the limits in program.h
  EVO_BAD_SHAPE = 3,     // batch, channels, plane, groups, layout or dtype out of range
  EVO_NO_MEMORY = 4,
  EVO_NO_EXCHANGE = 5,   // the processes could not exchange their moments
};

enum EvoLayout : int32_t { EVO_CHANNELS_FIRST = 0, EVO_CHANNELS_LAST = 1 };
enum EvoDtype : int32_t { EVO_FLOAT32 = 0, EVO_FLOAT16 = 1, EVO_BFLOAT16 = 2 };

struct EvoProgram;

// Replaces this process's numbers by those of all; anything but 0 ends the run. See EvoCall::exchange.
typedef int32_t (*EvoExchange)(void* user, double* numbers, int64_t count);

// One run. Tensors are dense (batch, channels, plane) in the given layout; the others are fp32.
struct EvoCall {
  const void* x;
  const void* gy;                   // backward only
  void* out;                        // y, or the gradient of x
  float* saved;                     // evo_saved_floats(): written by forward, read by backward; null: keep nothing
  const float* const* parameters;   // each `channels` long, or batch x channels if the program has it per sample
  float* const* gradients;          // likewise; backward only
  float* exports;                   // exports x channels raw batch moments; forward only
  int64_t batch, channels, plane;
  int32_t groups, layout, dtype, threads;
  // Moments over the batches of several processes; null: of this one. Called once for each phase that takes moments over
  // the batch, by the calling thread. Forward brings the number of elements behind a channel, then for each moment
  // `pitch` means and `pitch` variances (channels rounded up to 16), and expects the same of all processes; backward
  // brings `pitch` adjoints for each moment and expects their sums. Only then may the batch be empty.
  EvoExchange exchange;
  void* exchange_user;
  double everywhere;                // backward: the number of elements behind a channel in all processes
};

// Parses and checks an encoded program. Never trusts it: every index is checked against its limit.
int32_t evo_create(const int32_t* words, size_t count, EvoProgram** program);
void evo_destroy(EvoProgram* program);
int64_t evo_saved_floats(const EvoProgram* program, int64_t batch, int64_t channels);
int32_t evo_forward(const EvoProgram* program, const EvoCall* call);
int32_t evo_backward(const EvoProgram* program, const EvoCall* call);

const char* evo_isa();                      // "compiled" (machine code), "avx512", "avx2" or "portable" (interpreters)
int32_t evo_force_isa(const char* name);    // for tests; EVO_BAD_SHAPE if this machine has it not
int32_t evo_opcode_count();
const char* evo_opcode_name(int32_t number);
int32_t evo_opcode_operands(int32_t number);
}
