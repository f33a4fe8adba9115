// Reads an encoded program. The words may be anything: every count and index is checked before it is used.
#include "program.h"

#include <cstring>
#include <new>

namespace evonorm {
namespace {

const int32_t kOperands[] = {
#define EVONORM_OP(name, operands) operands,
#include "opcodes.def"
#undef EVONORM_OP
};

struct Malformed { EvoStatus status; };

class Reader {
 public:
  Reader(const int32_t* words, size_t count) : at_(words), left_(count) {}

  int32_t word() {
    if (left_ == 0) throw Malformed{EVO_BAD_PROGRAM};
    --left_;
    return *at_++;
  }
  int32_t below(int32_t limit) {
    const int32_t w = word();
    if (w < 0 || w >= limit) throw Malformed{EVO_BAD_PROGRAM};
    return w;
  }
  int32_t count(int32_t limit) {
    const int32_t w = word();
    if (w < 0) throw Malformed{EVO_BAD_PROGRAM};
    if (w > limit) throw Malformed{EVO_TOO_LARGE};
    return w;
  }
  bool empty() const { return left_ == 0; }

 private:
  const int32_t* at_;
  size_t left_;
};

void require(bool holds) {
  if (!holds) throw Malformed{EVO_BAD_PROGRAM};
}

class Parser {
 public:
  Parser(const int32_t* words, size_t count, EvoProgram& program) : in_(words, count), program_(program) {}

  void parse() {
    require(in_.word() == kMagic && in_.word() == kFormat);
    program_.moments = in_.count(kMaxMoments);
    program_.parameters.assign(in_.count(kMaxSlots), KIND_COUNT);  // their slots say which
    program_.gradients.assign(in_.count(kMaxSlots), KIND_COUNT);
    program_.exports = in_.count(kMaxSlots);
    program_.eps = number();
    const int32_t slots = in_.count(kMaxSlots);
    for (int32_t i = 0; i < slots; ++i) program_.slots.push_back(slot());
    settle(program_.parameters);
    settle(program_.gradients);
    phases(program_.forward, false);
    phases(program_.backward, true);
    require(in_.empty());
  }

 private:
  float number() {
    const int32_t bits = in_.word();
    float value;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  }

  Slot slot() {
    Slot s;
    s.kind = (Kind)in_.below(KIND_COUNT);
    s.home = (Home)in_.below(HOME_COUNT);
    s.index = in_.word();
    s.constant = number();
    require((s.kind == KIND_CONST) == (s.home == HOME_CONST));
    const int32_t limit = s.home == HOME_PARAMETER ? (int32_t)program_.parameters.size()
                          : s.home == HOME_GRAD    ? (int32_t)program_.gradients.size()
                          : s.home == HOME_EXPORT  ? program_.exports
                                                   : 1;
    require(s.index >= 0 && s.index < limit);
    if (s.home == HOME_EXPORT) require(s.kind == KIND_CHANNEL);
    if (s.home == HOME_PARAMETER) same_kind(program_.parameters[s.index], s.kind);
    if (s.home == HOME_GRAD) same_kind(program_.gradients[s.index], s.kind);
    return s;
  }

  // All slots of one parameter or gradient must agree how much memory the caller brings.
  static void same_kind(Kind& known, Kind kind) {
    require(known == KIND_COUNT || known == kind);
    known = kind;
  }
  static void settle(std::vector<Kind>& kinds) {
    for (Kind& kind : kinds)
      if (kind == KIND_COUNT) kind = KIND_CHANNEL;
  }

  void phases(std::vector<Phase>& phases, bool backward) {
    backward_ = backward;
    phases.resize(in_.count(kMaxPhases));
    require(!phases.empty());
    for (Phase& phase : phases) {
      steps(phase.channels, true);
      for (const Step& each : phase.channels) phase.batch_moments += each.type == BATCH_MOMENT || each.type == BATCH_ADJOINT;
      phase.stages.resize(in_.count(kMaxStages));
      for (Stage& stage : phase.stages) {
        steps(stage.rows, false);
        if (in_.below(2)) pass(stage.pass);
        phase.reads_x |= stage.pass.reads_x;
        phase.reads_gy |= stage.pass.reads_gy;
        phase.adds_to_out |= stage.pass.adds_to_out && !phase.writes_out;
        phase.writes_out |= stage.pass.writes_out;
      }
    }
  }

  void steps(std::vector<Step>& steps, bool channel) {
    const int32_t count = in_.count(kMaxSteps);
    for (int32_t i = 0; i < count; ++i) steps.push_back(step(channel));
  }

  // Row steps run for one sample and must not touch what other samples share; channel steps own their channels.
  int32_t readable(int32_t slot, bool channel) const {
    require(slot >= 0 && slot < (int32_t)program_.slots.size());
    if (channel) require(program_.slots[slot].kind != KIND_SAMPLE);
    return slot;
  }
  int32_t writable(int32_t slot, bool channel) const {
    require(slot >= 0 && slot < (int32_t)program_.slots.size());
    const Slot& s = program_.slots[slot];
    require(s.kind == (channel ? KIND_CHANNEL : KIND_SAMPLE) && s.home != HOME_PARAMETER);
    return slot;
  }

  Step step(bool channel) {
    int32_t w[kStepWords];
    for (int32_t& each : w) each = in_.word();
    require(w[0] >= 0 && w[0] < STEP_TYPE_COUNT);
    Step s{};
    s.type = (StepType)w[0];
    switch (s.type) {
      case ELEMENTWISE: elementwise_step(s, w, channel); break;
      case SAMPLE_MOMENT:
      case BATCH_MOMENT: moment_step(s, w, channel); break;
      case SAMPLE_ADJOINT:
      case BATCH_ADJOINT: adjoint_step(s, w, channel); break;
      default:
        require(channel && w[1] >= 0 && w[1] < REDUCE);
        s.mode = (Mode)w[1];
        s.value = writable(w[2], true);
        s.source = writable(w[3], false);
    }
    return s;
  }

  void elementwise_step(Step& s, const int32_t* w, bool channel) const {
    Instruction& i = s.elementwise;
    require(w[1] >= 0 && w[1] < OPCODE_COUNT && w[2] >= 0 && w[2] < REDUCE);
    i.op = (Opcode)w[1];
    i.mode = (Mode)w[2];
    i.dst = writable(w[3], channel);
    for (int k = 0; k < kMaxOperands; ++k) i.operands[k] = k < kOperands[i.op] ? readable(w[4 + k], channel) : -1;
  }

  void moment_kind(Step& s, const int32_t* w, bool channel) const {
    const bool batch = s.type == BATCH_MOMENT || s.type == BATCH_ADJOINT;
    require(batch == channel && w[1] >= 0 && w[1] < MOMENT_COUNT && w[2] >= 0 && w[2] < SET_COUNT);
    s.moment = (Moment)w[1];
    s.index_set = (IndexSet)w[2];
    require(batch == (s.index_set == SET_BWH));
    s.value = writable(w[3], channel);
    require((w[4] >= 0) == (s.moment == STD));
    s.mean = s.moment == STD ? writable(w[4], channel) : -1;
  }

  void moment_step(Step& s, const int32_t* w, bool channel) const {
    moment_kind(s, w, channel);
    require((w[5] >= 0) != (w[6] >= 0) && w[5] < program_.moments);
    s.accumulated = w[5];
    s.source = w[6] >= 0 ? readable(w[6], false) : -1;
    s.exported = w[7] >= 0 ? writable(w[7], true) : -1;
    require(channel || s.exported < 0);
  }

  void adjoint_step(Step& s, const int32_t* w, bool channel) const {
    moment_kind(s, w, channel);
    s.adjoint = writable(w[5], channel);
    s.coefficient = writable(w[6], channel);
    s.source_adjoint = w[7] < 0 ? -1 : w[7];
    if (s.source_adjoint < 0) return;
    const bool source_channel = channel && w[7] < (int32_t)program_.slots.size() &&
                                program_.slots[w[7]].kind == KIND_CHANNEL;
    writable(w[7], source_channel);
    s.source = readable(w[8], source_channel);
    require(w[9] >= 0 && w[9] < REDUCE);
    s.mode = (Mode)w[9];
  }

  void pass(Pass& p) {
    p.present = true;
    p.temporaries = in_.count(kMaxTemporaries);
    const int32_t loads = in_.count(kMaxSlots);
    for (int32_t i = 0; i < loads; ++i) p.loads.push_back(readable(in_.word(), false));
    const int32_t accumulators = in_.count(kMaxSlots);
    for (int32_t i = 0; i < accumulators; ++i) {
      const int32_t slot = writable(in_.word(), false);
      p.accumulators.push_back({slot, (Mode)in_.below(REDUCE)});
    }
    if (p.registers() > kMaxRegisters) throw Malformed{EVO_TOO_LARGE};
    const int32_t moments = in_.count(kMaxMoments);
    for (int32_t i = 0; i < moments; ++i) {
      const int32_t reg = in_.below(p.first_load());
      require(reg != REGISTER_OUT && (reg != REGISTER_GY || backward_));
      const int32_t moment = in_.below(program_.moments);
      p.moments.push_back({reg, moment, in_.below(2) != 0});
    }
    in_.below(2), in_.below(2);  // what the pass does with out is found below, not believed
    const int32_t count = in_.count(kMaxInstructions);
    for (int32_t i = 0; i < count; ++i) p.instructions.push_back(instruction(p));
    for (const TileMoment& m : p.moments) require(count > 0 || m.reg < FIRST_TEMPORARY);
    find_tensors(p);
  }

  Instruction instruction(const Pass& p) {
    Instruction i;
    i.op = (Opcode)in_.below(OPCODE_COUNT);
    i.mode = (Mode)in_.below(MODE_COUNT);
    i.dst = in_.below(p.registers());
    const bool to_accumulator = i.dst >= p.first_accumulator();
    require(to_accumulator == (i.mode == REDUCE));
    require(to_accumulator || (i.dst >= REGISTER_OUT && i.dst < p.first_load()));
    for (int k = 0; k < kMaxOperands; ++k) {
      i.operands[k] = in_.word();
      if (k >= kOperands[i.op]) { i.operands[k] = -1; continue; }
      require(i.operands[k] >= 0 && i.operands[k] < p.first_accumulator());
      require(i.operands[k] != REGISTER_GY || backward_);
    }
    return i;
  }

  static void find_tensors(Pass& p) {
    for (const TileMoment& m : p.moments) {
      p.reads_x |= m.reg == REGISTER_X;
      p.reads_gy |= m.reg == REGISTER_GY;
    }
    for (const Instruction& i : p.instructions) {
      for (int32_t operand : i.operands) {
        p.reads_x |= operand == REGISTER_X;
        p.reads_gy |= operand == REGISTER_GY;
        p.adds_to_out |= operand == REGISTER_OUT && !p.writes_out;
      }
      if (i.dst != REGISTER_OUT) continue;
      p.adds_to_out |= i.mode == ADD && !p.writes_out;
      p.writes_out = true;
    }
  }

  Reader in_;
  EvoProgram& program_;
  bool backward_ = false;
};

}  // namespace
}  // namespace evonorm

extern "C" int32_t evo_create(const int32_t* words, size_t count, EvoProgram** program) {
  *program = nullptr;
  EvoProgram* made = new (std::nothrow) EvoProgram;
  if (!made) return EVO_NO_MEMORY;
  try {
    evonorm::Parser(words, count, *made).parse();
    evonorm::compile_passes(*made);
  } catch (const evonorm::Malformed& problem) {
    delete made;
    return problem.status;
  } catch (const std::bad_alloc&) {
    delete made;
    return EVO_NO_MEMORY;
  }
  *program = made;
  return EVO_OK;
}

extern "C" void evo_destroy(EvoProgram* program) { delete program; }

extern "C" int32_t evo_opcode_count() { return evonorm::OPCODE_COUNT; }

extern "C" const char* evo_opcode_name(int32_t number) {
  static const char* const names[] = {
#define EVONORM_OP(name, operands) #name,
#include "opcodes.def"
#undef EVONORM_OP
  };
  return number >= 0 && number < evonorm::OPCODE_COUNT ? names[number] : "";
}

extern "C" int32_t evo_opcode_operands(int32_t number) {
  return number >= 0 && number < evonorm::OPCODE_COUNT ? evonorm::kOperands[number] : -1;
}
