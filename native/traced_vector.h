// A vector type that computes nothing: its operations are added to the trace that is being recorded. With it the math
// of vector_math.h and instruction_math.h becomes data for machine_code.cpp.
#pragma once
#include <cmath>
#include <cstring>

#include "trace.h"

#define EVONORM_INLINE static inline

namespace evonorm {
namespace EVONORM_ISA {

inline Trace*& recorded() {
  static thread_local Trace* trace = nullptr;
  return trace;
}
struct Recorded { int32_t node; };
inline Recorded record(Act act, int32_t a, int32_t b = -1, int32_t c = -1, uint32_t bits = 0) {
  return {recorded()->add(act, a, b, c, bits)};
}
inline Recorded record_constant(uint32_t bits) { return record(Act::CONSTANT, -1, -1, -1, bits); }

struct Vector {
  int32_t node = -1;
  Vector() = default;
  Vector(Recorded made) : node(made.node) {}
  Vector(float number) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    node = record_constant(bits).node;
  }
};
struct Integers {
  int32_t node;
  Integers(Recorded made) : node(made.node) {}
  Integers(int32_t number) : node(record_constant((uint32_t)number).node) {}
};

inline Vector operator+(Vector a, Vector b) { return record(Act::ADD, a.node, b.node); }
inline Vector operator-(Vector a, Vector b) { return record(Act::SUB, a.node, b.node); }
inline Vector operator*(Vector a, Vector b) { return record(Act::MUL, a.node, b.node); }
inline Vector operator/(Vector a, Vector b) { return record(Act::DIV, a.node, b.node); }
inline Integers operator<(Vector a, Vector b) { return record(Act::LESS, a.node, b.node); }
inline Integers operator==(Vector a, Vector b) { return record(Act::EQUAL, a.node, b.node); }
inline Integers operator+(Integers a, Integers b) { return record(Act::ADD_INTEGER, a.node, b.node); }
inline Integers operator-(Integers a, Integers b) { return record(Act::SUB_INTEGER, a.node, b.node); }
inline Integers operator&(Integers a, Integers b) { return record(Act::AND, a.node, b.node); }
inline Integers operator|(Integers a, Integers b) { return record(Act::OR, a.node, b.node); }
inline Integers operator^(Integers a, Integers b) { return record(Act::XOR, a.node, b.node); }
inline Integers operator<<(Integers a, int n) { return record(Act::SHIFT_LEFT, a.node, -1, -1, n); }
inline Integers operator>>(Integers a, int n) { return record(Act::SHIFT_RIGHT, a.node, -1, -1, n); }

EVONORM_INLINE Vector all(float number) { return number; }
EVONORM_INLINE Vector zero() { return 0.0f; }
EVONORM_INLINE Integers bits(Vector v) { return Recorded{v.node}; }
EVONORM_INLINE Vector from_bits(Integers i) { return Recorded{i.node}; }
EVONORM_INLINE Vector operator-(Vector v) { return from_bits(bits(v) ^ (int32_t)0x80000000); }
EVONORM_INLINE Vector to_float(Integers i) { return record(Act::TO_FLOAT, i.node); }
EVONORM_INLINE Vector select(Integers mask, Vector yes, Vector no) {
  return record(Act::SELECT, mask.node, yes.node, no.node);
}
EVONORM_INLINE Vector absolute(Vector v) { return from_bits(bits(v) & 0x7fffffff); }
EVONORM_INLINE Vector sign_bit(Vector v) { return from_bits(bits(v) & (int32_t)0x80000000); }
EVONORM_INLINE Vector with_sign(Vector magnitude, Vector sign) { return from_bits(bits(magnitude) | bits(sign)); }
EVONORM_INLINE Vector at_most(Vector v, Vector bound) { return record(Act::MIN, bound.node, v.node); }
EVONORM_INLINE Vector at_least(Vector v, Vector bound) { return record(Act::MAX, bound.node, v.node); }
EVONORM_INLINE Vector square_root(Vector v) { return record(Act::SQRT, v.node); }

}  // namespace EVONORM_ISA
}  // namespace evonorm
