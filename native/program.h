// A program as data: what evonorm/kernels/cpu/program.py encodes, parsed and checked.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "kernel_api.h"
#include "machine_code.h"

namespace evonorm {

enum Opcode : int32_t {
#define EVONORM_OP(name, operands) OP_##name,
#include "opcodes.def"
#undef EVONORM_OP
  OPCODE_COUNT
};

enum Mode : int32_t { WRITE, ADD, REDUCE, MODE_COUNT };
enum Kind : int32_t { KIND_CONST, KIND_CHANNEL, KIND_SAMPLE, KIND_COUNT };
enum Home : int32_t { HOME_CONST, HOME_PARAMETER, HOME_SAVED, HOME_SCRATCH, HOME_GRAD, HOME_EXPORT, HOME_COUNT };
enum Moment : int32_t { MEAN, RMS, STD, MOMENT_COUNT };
enum IndexSet : int32_t { SET_BWH, SET_WHC, SET_WH, SET_WHCG, SET_COUNT };
enum StepType : int32_t {
  ELEMENTWISE, SAMPLE_MOMENT, BATCH_MOMENT, SAMPLE_ADJOINT, BATCH_ADJOINT, SUM_BATCH, STEP_TYPE_COUNT
};

constexpr int32_t kMagic = 0x45564F4E, kFormat = 1;
constexpr int kMaxOperands = 4, kStepWords = 10;
constexpr int kMaxSlots = 512, kMaxMoments = 64, kMaxPhases = 64, kMaxStages = 64, kMaxSteps = 512;
constexpr int kMaxTemporaries = 64, kMaxRegisters = 192, kMaxInstructions = 512;
enum Register : int32_t { REGISTER_X, REGISTER_GY, REGISTER_OUT, FIRST_TEMPORARY };

struct Slot {
  Kind kind;
  Home home;
  int32_t index;  // which parameter, gradient or export
  float constant;
};

struct Instruction {
  Opcode op;
  Mode mode;
  int32_t dst;
  int32_t operands[kMaxOperands];
};

struct Step {
  StepType type;
  Instruction elementwise;  // registers are slots here
  Moment moment;
  IndexSet index_set;
  int32_t value, mean;              // the moment's slot and, for std, that of its mean
  int32_t accumulated, source;      // moments: number of the tile moment, or the slot of a small source
  int32_t exported;                 // batch moments: slot of the raw moment, or -1
  int32_t adjoint, coefficient;     // adjoints: A's adjoint in, what its elements get out
  int32_t source_adjoint;           // adjoints of a small source: where that goes, or -1
  Mode mode;                        // ... and how; also of SUM_BATCH
};

struct AccumulatorRow { int32_t slot; Mode mode; };
struct TileMoment { int32_t reg, moment; bool squares; };

struct Pass {
  bool present = false;
  int32_t temporaries = 0;
  std::vector<int32_t> loads;                // slots, registers FIRST_TEMPORARY + temporaries ...
  std::vector<AccumulatorRow> accumulators;  // ... and the registers after those
  std::vector<TileMoment> moments;
  std::vector<Instruction> instructions;
  bool reads_x = false, reads_gy = false, writes_out = false, adds_to_out = false;
  LoopCode rows, planes;  // the pass as machine code, where there is some

  int32_t first_load() const { return FIRST_TEMPORARY + temporaries; }
  int32_t first_accumulator() const { return first_load() + (int32_t)loads.size(); }
  int32_t registers() const { return first_accumulator() + (int32_t)accumulators.size(); }
};

struct Stage {
  std::vector<Step> rows;
  Pass pass;
};

struct Phase {
  std::vector<Step> channels;
  std::vector<Stage> stages;
  int32_t batch_moments = 0;  // channel steps that take a moment over the batch, or its adjoint
  bool reads_x = false, reads_gy = false, writes_out = false, adds_to_out = false;
};

}  // namespace evonorm

struct EvoProgram {
  std::vector<evonorm::Slot> slots;
  std::vector<evonorm::Phase> forward, backward;
  int32_t moments = 0, exports = 0;
  std::vector<evonorm::Kind> parameters, gradients;  // per channel, or per sample and channel
  float eps = 0;  // inside the roots of rms and std
  std::shared_ptr<const uint8_t> machine_code;
};
