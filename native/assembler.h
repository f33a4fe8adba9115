// Writes x86-64 machine code with VEX-encoded instructions on 256-bit vectors.
//
// A VEX instruction is `op dst, first, second`; `second` is a register or a place in memory, and some have a number
// behind it.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace evonorm {

enum GeneralRegister : int { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };
constexpr int kNoIndex = RSP;  // the encoding's way to say that there is no index

// base + index + displacement, or a constant that is stored behind the code
struct Memory {
  int base, index;
  int32_t displacement;
  int32_t constant = -1;
};

struct VectorOperand {
  bool in_memory;
  int reg;
  Memory memory;
};

// The opcode map (1: 0F, 2: 0F38, 3: 0F3A), the mandatory prefix (0: none, 1: 66) and the opcode byte.
struct VexCode { int map, prefix, opcode; };

constexpr VexCode kMove{1, 0, 0x28}, kLoad{1, 0, 0x10}, kStore{1, 0, 0x11};
constexpr VexCode kShiftByNumber{1, 1, 0x72}, kBlend{3, 1, 0x4A}, kCompare{1, 0, 0xC2};

class Assembler {
 public:
  void vex(VexCode code, int dst, int first, const VectorOperand& second, int number = -1) {
    const int base = second.in_memory ? second.memory.base : second.reg;
    const int index = second.in_memory ? second.memory.index : 0;
    const bool constant = second.in_memory && second.memory.constant >= 0;
    byte(0xC4);
    byte((dst < 8) << 7 | (constant || index < 8) << 6 | (constant || base < 8) << 5 | code.map);
    byte((~first & 15) << 3 | 1 << 2 | code.prefix);
    byte(code.opcode);
    if (second.in_memory) memory(dst, second.memory, number >= 0);
    else byte(0xC0 | (dst & 7) << 3 | (second.reg & 7));
    if (number >= 0) byte(number);
  }

  void push(int reg) { byte(0x50 | reg); }
  void pop(int reg) { byte(0x58 | reg); }
  void add_to_stack(int32_t bytes) { wide(0, RSP), byte(0x81), byte(0xC4), word(bytes); }
  void load(int dst, int base, int8_t displacement) {
    wide(dst, base), byte(0x8B), byte(0x40 | (dst & 7) << 3 | (base & 7)), byte(displacement);
  }
  void clear(int reg) { byte(0x31), byte(0xC0 | reg << 3 | reg); }  // one of the first eight
  void copy(int dst, int from) { wide(from, dst), byte(0x89), byte(0xC0 | (from & 7) << 3 | (dst & 7)); }
  void add(int dst, int from) { wide(from, dst), byte(0x01), byte(0xC0 | (from & 7) << 3 | (dst & 7)); }
  void add(int dst, int8_t value) { wide(0, dst), byte(0x83), byte(0xC0 | (dst & 7)), byte(value); }
  // Back to `target` unless the register, counted down by one, is zero.
  void count_down(int reg, size_t target) {
    wide(0, reg), byte(0xFF), byte(0xC8 | (reg & 7));
    byte(0x0F), byte(0x85), word((int32_t)((int64_t)target - (int64_t)code.size() - 4));
  }
  void clear_upper_halves() { byte(0xC5), byte(0xF8), byte(0x77); }
  void ret() { byte(0xC3); }

  // Appends the constants, each as a whole vector, and points what reads them there.
  void place_constants(const std::vector<uint32_t>& constants) {
    while (code.size() % 32) byte(0xCC);
    const size_t first = code.size();
    for (uint32_t bits : constants)
      for (int lane = 0; lane < 8; ++lane) word((int32_t)bits);
    for (const Reference& each : references_) {
      const int32_t distance = (int32_t)(first + 32 * each.constant - each.after);
      std::memcpy(&code[each.at], &distance, 4);
    }
    references_.clear();
  }

  std::vector<uint8_t> code;

 private:
  struct Reference { size_t at, after, constant; };

  void byte(int value) { code.push_back((uint8_t)value); }
  void word(int32_t value) {
    for (int shift = 0; shift < 32; shift += 8) byte(value >> shift & 255);
  }
  void wide(int reg, int base) { byte(0x48 | (reg >= 8) << 2 | (base >= 8)); }  // 64-bit operation

  void memory(int reg, const Memory& m, bool number_follows) {
    if (m.constant >= 0) {  // relative to the end of the instruction
      byte((reg & 7) << 3 | 5);
      references_.push_back({code.size(), code.size() + 4 + number_follows, (size_t)m.constant});
      word(0);
      return;
    }
    const bool small = m.displacement >= -128 && m.displacement < 128;
    byte((small ? 0x40 : 0x80) | (reg & 7) << 3 | 4);
    byte((m.index & 7) << 3 | (m.base & 7));
    if (small) byte(m.displacement);
    else word(m.displacement);
  }

  std::vector<Reference> references_;
};

}  // namespace evonorm
