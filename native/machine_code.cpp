#include "machine_code.h"

#if defined(__x86_64__) && (defined(__linux__) || defined(__APPLE__))
#include <sys/mman.h>

#include <algorithm>

#define EVONORM_ISA traced
#include "traced_vector.h"

#include "assembler.h"
#include "instruction_math.h"

namespace evonorm {
namespace {

using traced::Recorded;
using traced::Vector;

Vector compute(Opcode op, Vector a, Vector b, Vector c, Vector d) {
  switch (op) {
#define EVONORM_OP(name, operands) \
  case OP_##name: return traced::Op<OP_##name>::f(a, b, c, d);
#include "opcodes.def"
#undef EVONORM_OP
    default: return a;
  }
}

Vector load(Place where) { return Recorded{traced::recorded()->add(Act::LOAD, -1, -1, -1, 0, where)}; }
void store(Vector v, Place where) { traced::recorded()->add(Act::STORE, v.node, -1, -1, 0, where); }

// Records what a pass does to one vector of elements, or to two side by side. By plane both add to the same sums.
class PassTracer {
 public:
  PassTracer(const Pass& pass, const std::vector<Slot>& slots, bool by_plane, int32_t chains)
      : pass_(pass), loads_(pass.loads.size()), sums_(pass.accumulators.size()), by_plane_(by_plane), chains_(chains) {
    traced::recorded() = &trace_;
    for (int32_t chain = 0; chain < chains_; ++chain) start(chain, slots);
    for (const Instruction& i : pass_.instructions) {
      ++trace_.instruction;
      for (int32_t chain = 0; chain < chains_; ++chain) compute_in(chain, i);
    }
    ++trace_.instruction;
    for (int32_t chain = 0; chain < chains_; ++chain) take_moments(chain);
    for (int32_t chain = 0; chain < chains_; ++chain) finish(chain);
    traced::recorded() = nullptr;
    trace_.contract();
    if (chains_ > 1) trace_.interleave();
  }
  const Trace& trace() const { return trace_; }

 private:
  Place small(size_t number, int32_t chain) const { return {Place::SMALL, (int32_t)number, by_plane_ ? 0 : chain}; }
  // What is added up, by plane in one place for all chains.
  Vector& sum(size_t number, int32_t chain) { return added_[by_plane_ ? 0 : chain][number]; }
  bool is_last(int32_t chain) const { return !by_plane_ || chain == chains_ - 1; }

  void start(int32_t chain, const std::vector<Slot>& slots) {
    trace_.chain = chain;
    std::vector<Vector>& registers = registers_[chain];
    registers.assign(pass_.registers(), Vector(0.0f));
    registers[REGISTER_X] = load({Place::X, 0, chain});
    registers[REGISTER_GY] = load({Place::GY, 0, chain});
    registers[REGISTER_OUT] = load({Place::OUT, 0, chain});
    for (size_t l = 0; l < loads_; ++l) {
      const Slot& slot = slots[pass_.loads[l]];
      registers[pass_.first_load() + l] = slot.kind == KIND_CONST ? Vector(slot.constant) : load(small(l, chain));
    }
    added_[chain].resize(sums_ + 3 * pass_.moments.size());
    for (size_t i = 0; i < added_[chain].size(); ++i) sum(i, chain) = load(small(loads_ + i, chain));
  }

  void compute_in(int32_t chain, const Instruction& i) {
    trace_.chain = chain;
    std::vector<Vector>& registers = registers_[chain];
    Vector in[kMaxOperands];
    for (int k = 0; k < kMaxOperands; ++k) in[k] = registers[i.operands[k] < 0 ? i.operands[0] : i.operands[k]];
    const Vector result = compute(i.op, in[0], in[1], in[2], in[3]);
    if (i.mode == REDUCE) {
      Vector& total = sum(i.dst - pass_.first_accumulator(), chain);
      total = total + result;
    } else {
      registers[i.dst] = i.mode == WRITE ? result : registers[i.dst] + result;
    }
  }

  void take_moments(int32_t chain) {
    trace_.chain = chain;
    for (size_t m = 0; m < pass_.moments.size(); ++m) {
      const size_t shift = sums_ + 3 * m;
      const Vector e = registers_[chain][pass_.moments[m].reg] - sum(shift, chain);
      sum(shift + 1, chain) = sum(shift + 1, chain) + e;
      sum(shift + 2, chain) = sum(shift + 2, chain) + e * e;
    }
  }

  void finish(int32_t chain) {
    trace_.chain = chain;
    if (pass_.writes_out) store(registers_[chain][REGISTER_OUT], {Place::OUT, 0, chain});
    for (size_t i = 0; i < added_[chain].size() && is_last(chain); ++i)
      if (i < sums_ || (i - sums_) % 3) store(sum(i, chain), small(loads_ + i, chain));
  }

  const Pass& pass_;
  const size_t loads_, sums_;
  const bool by_plane_;
  const int32_t chains_;
  Trace trace_;
  std::vector<Vector> registers_[2], added_[2];
};

constexpr int kVectorBytes = 32, kVectorRegisters = 16;
constexpr size_t kOperationsWorthPairing = 60;  // with fewer the processor sees several vectors at once by itself
constexpr int kOwnInstruction = 3;  // what a load costs that is no operand of another instruction
constexpr int kCompareLess = 0x11, kCompareEqual = 0x00;  // false where one is NaN

struct Encoding {
  VexCode code;
  bool commutes;
  int number = -1;
};
Encoding encoding_of(Act act) {
  switch (act) {
    case Act::ADD: return {{1, 0, 0x58}, true};
    case Act::SUB: return {{1, 0, 0x5C}, false};
    case Act::MUL: return {{1, 0, 0x59}, true};
    case Act::DIV: return {{1, 0, 0x5E}, false};
    case Act::MIN: return {{1, 0, 0x5D}, false};
    case Act::MAX: return {{1, 0, 0x5F}, false};
    case Act::AND: return {{1, 0, 0x54}, true};
    case Act::OR: return {{1, 0, 0x56}, true};
    case Act::XOR: return {{1, 0, 0x57}, true};
    case Act::LESS: return {kCompare, false, kCompareLess};
    case Act::EQUAL: return {kCompare, true, kCompareEqual};
    case Act::ADD_INTEGER: return {{1, 1, 0xFE}, true};
    case Act::SUB_INTEGER: return {{1, 1, 0xFA}, false};
    case Act::SQRT: return {{1, 0, 0x51}, false};
    case Act::TO_FLOAT: return {{1, 0, 0x5B}, false};
    default: return {kMove, false};
  }
}

// Emits a trace as a loop. Registers are given out in order of the nodes; where none is free the value that is used
// again last goes: what lies in memory anyway is dropped, the rest is spilled to the stack. `pinned` are values that do
// not change inside a run and stay in the highest registers.
class LoopEmitter {
 public:
  LoopEmitter(Assembler& out, const Trace& trace, bool by_plane, int chains, const std::vector<int32_t>& pinned = {})
      : out_(out), nodes_(trace.nodes), by_plane_(by_plane), bytes_(chains * kVectorBytes), pinned_(pinned) {
    std::fill_n(held_, kVectorRegisters, -1);
    reg_.assign(nodes_.size(), -1);
    home_.assign(nodes_.size(), Memory{-1, 0, 0});
    reads_.assign(nodes_.size(), 0);
    for (size_t i = 0; i < pinned_.size(); ++i) hold(pinned_[i], kVectorRegisters - 1 - (int)i);
    find_uses();
  }

  void emit() {
    // arguments into registers, all of which belong to the callee but rbx
    out_.push(RBX);
    out_.add_to_stack(0);
    const size_t reserve = out_.code.size() - 4;
    constexpr int order[] = {RSI, RDX, RCX, R8, R9, R10, R11};
    for (int i = 0; i < 7; ++i) out_.load(order[i], RDI, (int8_t)(8 * i));
    out_.clear(RAX), out_.clear(RDI);
    const size_t next_run = out_.code.size();
    out_.copy(RBX, R10);
    for (int32_t value : pinned_) {
      find_home(value);
      out_.vex(kLoad, reg_[value], 0, in_memory(home_[value]));
    }
    const size_t next_vector = out_.code.size();
    for (position_ = 0; position_ < (int32_t)nodes_.size(); ++position_)
      if (needed_[position_]) emit_node(nodes_[position_]);
    out_.add(RAX, (int8_t)bytes_);
    if (!by_plane_) out_.add(RDI, (int8_t)bytes_);
    out_.count_down(RBX, next_vector);
    if (by_plane_) out_.add(RDI, R11);
    else out_.add(RAX, R11), out_.clear(RDI);
    out_.count_down(R9, next_run);
    out_.clear_upper_halves();
    const int32_t bytes = spills_ * kVectorBytes, negative = -bytes;
    std::memcpy(&out_.code[reserve], &negative, 4);
    out_.add_to_stack(bytes);
    out_.pop(RBX);
    out_.ret();
    out_.place_constants(constants_);
  }

  size_t operations() const { return std::count(needed_.begin(), needed_.end(), true); }

  // The values worth pinning after a trial without: those read from memory most often, as many as registers are left.
  std::vector<int32_t> worth_pinning() const {
    std::vector<int32_t> found;
    for (int32_t n = 0; n < (int32_t)nodes_.size(); ++n)
      if (reads_[n] > 0 && stays_in_run(nodes_[n])) found.push_back(n);
    std::stable_sort(found.begin(), found.end(), [this](int32_t a, int32_t b) { return reads_[a] > reads_[b]; });
    const size_t left = kVectorRegisters - most_registers_;
    if (found.size() > left) found.resize(left);
    return found;
  }

 private:
  bool stays_in_run(const Node& node) const {
    if (node.act == Act::CONSTANT) return true;
    if (!by_plane_ || node.act != Act::LOAD || node.where.base != Place::SMALL) return false;
    for (const Node& other : nodes_)
      if (other.act == Act::STORE && other.where.base == Place::SMALL && other.where.index == node.where.index) return false;
    return true;
  }
  void find_uses() {
    needed_.assign(nodes_.size(), false);
    uses_.resize(nodes_.size());
    for (int32_t n = (int32_t)nodes_.size() - 1; n >= 0; --n) {
      const Node& node = nodes_[n];
      needed_[n] = node.act == Act::STORE || !uses_[n].empty();
      if (!needed_[n]) continue;
      for (int32_t i : {node.a, node.b, node.c})
        if (i >= 0) uses_[i].push_back(n);
    }  // last use first
  }
  // The first use after the current node; a number beyond all nodes if there is none.
  int32_t next_use(int32_t value) {
    std::vector<int32_t>& uses = uses_[value];
    while (!uses.empty() && uses.back() <= position_) uses.pop_back();
    return uses.empty() ? (int32_t)nodes_.size() : uses.back();
  }
  bool dies(int32_t value) { return !is_pinned(value) && next_use(value) == (int32_t)nodes_.size(); }
  bool is_pinned(int32_t value) const { return reg_[value] >= kVectorRegisters - (int)pinned_.size(); }

  // ---- where values are ----

  Memory memory_of(Place where) {
    switch (where.base) {
      case Place::X: return {RSI, RAX, where.vector * kVectorBytes};
      case Place::GY: return {RDX, RAX, where.vector * kVectorBytes};
      case Place::OUT: return {RCX, RAX, where.vector * kVectorBytes};
      case Place::SMALL: return {R8, RDI, (int32_t)(where.index * kSmallPitch * 4) + where.vector * kVectorBytes};
      case Place::CONSTANT: return {0, 0, 0, where.index};
      default: return {RSP, kNoIndex, where.index * kVectorBytes};
    }
  }
  void find_home(int32_t value) {
    if (has_home(value)) return;
    const Node& node = nodes_[value];
    home_[value] = memory_of(node.act == Act::LOAD ? node.where : Place{Place::CONSTANT, (int32_t)constants_.size()});
    if (node.act == Act::CONSTANT) constants_.push_back(node.bits);
  }
  bool has_home(int32_t value) const { return home_[value].base >= 0; }
  static VectorOperand in_register(int reg) { return {false, reg, {}}; }
  static VectorOperand in_memory(const Memory& m) { return {true, 0, m}; }

  int take_register() {
    int best = -1, furthest = -1;
    for (int r = 0; r < kVectorRegisters - (int)pinned_.size(); ++r) {
      if (locked_ >> r & 1) continue;
      if (held_[r] < 0) {
        most_registers_ = std::max(most_registers_, r + 1);
        return r;
      }
      const int32_t next = next_use(held_[r]);
      if (next > furthest) best = r, furthest = next;
    }
    const int32_t value = held_[best];
    if (!has_home(value)) {
      home_[value] = memory_of({Place::SPILL, spills_++});
      out_.vex(kStore, best, 0, in_memory(home_[value]));
    }
    drop(value);
    return best;
  }
  void hold(int32_t value, int reg) { held_[reg] = value, reg_[value] = reg; }
  void drop(int32_t value) {
    if (reg_[value] < 0 || is_pinned(value)) return;
    held_[reg_[value]] = -1;
    reg_[value] = -1;
  }

  int as_register(int32_t value) {
    if (reg_[value] < 0) {
      const int reg = take_register();
      out_.vex(kLoad, reg, 0, read(value, kOwnInstruction));
      hold(value, reg);
    }
    locked_ |= 1 << reg_[value];
    return reg_[value];
  }
  // Constants and what is used once are read where they lie.
  VectorOperand as_operand(int32_t value) {
    const bool stays = nodes_[value].act == Act::CONSTANT || dies(value);
    if (reg_[value] < 0 && stays) return read(value, 1);
    return in_register(as_register(value));
  }
  VectorOperand read(int32_t value, int cost) {
    reads_[value] += cost;
    return in_memory(home_[value]);
  }
  int result_register(const Node& node) {
    for (int32_t i : {node.a, node.b, node.c})
      if (i >= 0 && dies(i) && reg_[i] >= 0) locked_ &= ~(1 << reg_[i]), drop(i);
    const int reg = take_register();
    hold(position_, reg);
    return reg;
  }

  // ---- nodes ----

  void emit_node(const Node& node) {
    locked_ = 0;
    switch (node.act) {
      case Act::LOAD:
      case Act::CONSTANT: return find_home(position_);
      case Act::STORE:
        out_.vex(kStore, as_register(node.a), 0, in_memory(memory_of(node.where)));
        if (dies(node.a)) drop(node.a);
        return;
      case Act::SELECT: return emit_select(node);
      case Act::SQRT:
      case Act::TO_FLOAT: {
        const VectorOperand a = as_operand(node.a);
        out_.vex(encoding_of(node.act).code, result_register(node), 0, a);
        return;
      }
      case Act::SHIFT_LEFT:
      case Act::SHIFT_RIGHT: {
        const int a = as_register(node.a), variant = node.act == Act::SHIFT_LEFT ? 6 : 4;
        out_.vex(kShiftByNumber, variant, result_register(node), in_register(a), (int)node.bits);
        return;
      }
      case Act::MUL_ADD: return emit_product_sum(node, 0x98);
      case Act::MUL_SUB: return emit_product_sum(node, 0x9A);
      case Act::NEG_MUL_ADD: return emit_product_sum(node, 0x9C);
      default: return emit_binary(node);
    }
  }

  void emit_binary(const Node& node) {
    const Encoding e = encoding_of(node.act);
    const bool swap = e.commutes && reg_[node.a] < 0 && reg_[node.b] >= 0;
    const int first = as_register(swap ? node.b : node.a);
    const VectorOperand second = as_operand(swap ? node.a : node.b);
    out_.vex(e.code, result_register(node), first, second, e.number);
  }

  void emit_select(const Node& node) {
    const int mask = as_register(node.a), no = as_register(node.c);
    const VectorOperand yes = as_operand(node.b);
    out_.vex(kBlend, result_register(node), no, yes, mask << 4);
  }

  // One of three forms, by which operand may be overwritten; the second of the others may lie in memory:
  //   132: a = a * memory + c     213: a = b * a + memory     231: c = a * memory + c
  void emit_product_sum(const Node& node, int opcode) {
    int32_t a = node.a, b = node.b;
    const int32_t c = node.c;
    const auto free = [&](int32_t i) { return reg_[i] >= 0 && dies(i); };
    if (!free(a) && free(b)) std::swap(a, b);
    if (free(c) && c != a && c != b) {
      if (reg_[a] < 0 && reg_[b] >= 0) std::swap(a, b);
      product_sum(opcode + 0x20, c, a, b);
    } else if (free(a) && a != c) {
      if (reg_[c] >= 0 && a != b) product_sum(opcode, a, c, b);
      else product_sum(opcode + 0x10, a, b, c);
    } else {
      if (reg_[a] < 0 && reg_[b] >= 0) std::swap(a, b);
      copy_and_product_sum(opcode + 0x20, node, a, b);
    }
  }
  void product_sum(int opcode, int32_t overwritten, int32_t first, int32_t second) {
    const int reg = as_register(overwritten), other = as_register(first);
    const VectorOperand last = as_operand(second);
    out_.vex({2, 1, opcode}, reg, other, last);
    drop(overwritten);
    for (int32_t i : {first, second})
      if (dies(i)) drop(i);
    hold(position_, reg);
  }
  void copy_and_product_sum(int opcode, const Node& node, int32_t a, int32_t b) {
    const int first = as_register(a);
    const VectorOperand second = as_operand(b);
    const VectorOperand sum = reg_[node.c] >= 0 ? in_register(reg_[node.c]) : read(node.c, kOwnInstruction);
    if (!sum.in_memory) locked_ |= 1 << sum.reg;
    const int reg = take_register();
    out_.vex(sum.in_memory ? kLoad : kMove, reg, 0, sum);
    out_.vex({2, 1, opcode}, reg, first, second);
    for (int32_t i : {node.a, node.b, node.c})
      if (dies(i)) drop(i);
    hold(position_, reg);
  }

  Assembler& out_;
  const std::vector<Node>& nodes_;
  const bool by_plane_;
  const int bytes_;  // that the loop advances
  const std::vector<int32_t> pinned_;
  std::vector<int32_t> reads_;              // what reading each value from memory costs
  int most_registers_ = 0;
  int32_t position_ = 0, spills_ = 0;
  uint32_t locked_ = 0;                     // registers that the current instruction reads
  int32_t held_[kVectorRegisters];          // the value in each register, or -1
  std::vector<int32_t> reg_;                // the register of each value, or -1
  std::vector<Memory> home_;                // where else a value lies; base -1: nowhere
  std::vector<std::vector<int32_t>> uses_;  // positions, last first
  std::vector<bool> needed_;
  std::vector<uint32_t> constants_;
};

struct Compiled {
  TileCode* code;
  size_t begin;
};

// Emits all code of a program; what points there is set when its place is known.
class Compiler {
 public:
  void compile(Pass& pass, const std::vector<Slot>& slots) {
    for (bool by_plane : {false, true}) {
      LoopCode& loop = by_plane ? pass.planes : pass.rows;
      const size_t operations = emit_loop(pass, slots, by_plane, 1, loop.single);
      if (operations > kOperationsWorthPairing) emit_loop(pass, slots, by_plane, 2, loop.pairs);
    }
  }
  void link(std::shared_ptr<const uint8_t>& pages);

 private:
  size_t emit_loop(const Pass& pass, const std::vector<Slot>& slots, bool by_plane, int chains, TileCode& code) {
    const PassTracer tracer(pass, slots, by_plane, chains);
    Assembler discarded;
    LoopEmitter trial(discarded, tracer.trace(), by_plane, chains);
    trial.emit();
    compiled_.push_back({&code, assembler_.code.size()});
    LoopEmitter(assembler_, tracer.trace(), by_plane, chains, trial.worth_pinning()).emit();
    return trial.operations();
  }

  Assembler assembler_;
  std::vector<Compiled> compiled_;
};

// Readable and executable pages that hold the code, never writable at the same time; null if the system refuses.
std::shared_ptr<const uint8_t> executable(const std::vector<uint8_t>& code) {
  void* const pages = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, code.size(), PROT_READ | PROT_EXEC)) {
    munmap(pages, code.size());
    return nullptr;
  }
  const size_t size = code.size();
  return {static_cast<const uint8_t*>(pages), [size](const uint8_t* p) { munmap(const_cast<uint8_t*>(p), size); }};
}

// Without pages, because there is no code or the system refuses, everything stays interpreted.
void Compiler::link(std::shared_ptr<const uint8_t>& pages) {
  if (!compiled_.empty()) pages = executable(assembler_.code);
  if (!pages) return;
  for (const Compiled& each : compiled_) *each.code = reinterpret_cast<TileCode>(pages.get() + each.begin);
}

// Moments of x alone are faster in tile_moments.h. Where moments are taken the first tile runs twice, which must not
// add up.
bool can_be_compiled(const Pass& pass) {
  return pass.present && !pass.instructions.empty() && (pass.moments.empty() || (!pass.adds_to_out && pass.accumulators.empty()));
}

}  // namespace

void compile_passes(EvoProgram& program) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  Compiler compiler;
  for (std::vector<Phase>* phases : {&program.forward, &program.backward})
    for (Phase& phase : *phases)
      for (Stage& stage : phase.stages)
        if (can_be_compiled(stage.pass)) compiler.compile(stage.pass, program.slots);
  compiler.link(program.machine_code);
}

}  // namespace evonorm

#else

namespace evonorm {
void compile_passes(EvoProgram&) {}
}  // namespace evonorm

#endif
