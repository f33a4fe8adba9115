// The loops that run an opcode over a tile: dst = f, dst += f, or sums of f per channel.
#pragma once
#include "vector.h"

#include "instruction_math.h"

namespace evonorm {
namespace EVONORM_ISA {

// An operand advances by `step` floats per vector (0: one vector for all) and by `jump` floats per plane.
struct Operand {
  const float* p;
  int64_t step, jump;
};

// A tile is `planes` runs of `vectors` vectors. When sums are wanted, vector i of a run goes to accumulator vector
// i % width; with planes, every plane has one accumulator vector.
struct TileCall {
  int64_t planes, vectors, width;
  bool dense;  // every operand advances with the tile
  bool by_plane;
  float* out;
  int64_t out_jump;
  Operand in[kMaxOperands];
};

template <int operands> struct Cursor {
  const float* p[kMaxOperands];
  int64_t step[kMaxOperands];

  EVONORM_INLINE Cursor at(const TileCall& t, int64_t plane) {
    Cursor c;
    for (int k = 0; k < operands; ++k) c.p[k] = t.in[k].p + plane * t.in[k].jump, c.step[k] = t.in[k].step;
    return c;
  }
  template <class F> inline __attribute__((always_inline)) Vector value(int64_t i) const {
    const Vector a = load(p[0] + i * step[0]);
    const Vector b = operands > 1 ? load(p[1] + i * step[1]) : a;
    const Vector c = operands > 2 ? load(p[2] + i * step[2]) : a;
    const Vector d = operands > 3 ? load(p[3] + i * step[3]) : a;
    return F::f(a, b, c, d);
  }
  template <class F> inline __attribute__((always_inline)) Vector dense_value(int64_t offset) const {
    const Vector a = load(p[0] + offset);
    const Vector b = operands > 1 ? load(p[1] + offset) : a;
    const Vector c = operands > 2 ? load(p[2] + offset) : a;
    const Vector d = operands > 3 ? load(p[3] + offset) : a;
    return F::f(a, b, c, d);
  }
};

template <Opcode op, int operands, Mode mode> void run_elementwise(const TileCall& t) {
  typedef Op<op> F;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    const Cursor<operands> in = Cursor<operands>::at(t, plane);
    float* const out = t.out + plane * t.out_jump;
    if (t.dense) {
      const int64_t end = t.vectors * kLanes;
#pragma GCC unroll 4
      for (int64_t i = 0; i < end; i += kLanes) {
        const Vector v = in.template dense_value<F>(i);
        store(out + i, mode == ADD ? load(out + i) + v : v);
      }
    } else {
      for (int64_t i = 0; i < t.vectors; ++i) {
        const Vector v = in.template value<F>(i);
        store(out + i * kLanes, mode == ADD ? load(out + i * kLanes) + v : v);
      }
    }
  }
}

// Sums per accumulator vector. Four at a time, so that additions overlap.
template <Opcode op, int operands> void run_reduce(const TileCall& t) {
  typedef Op<op> F;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    const Cursor<operands> in = Cursor<operands>::at(t, plane);
    float* const out = t.out + plane * t.out_jump;
    if (t.by_plane) {
      Vector s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
      int64_t i = 0;
      for (; i + 4 <= t.vectors; i += 4) {
        s0 += in.template value<F>(i);
        s1 += in.template value<F>(i + 1);
        s2 += in.template value<F>(i + 2);
        s3 += in.template value<F>(i + 3);
      }
      for (; i < t.vectors; ++i) s0 += in.template value<F>(i);
      store(out, load(out) + ((s0 + s1) + (s2 + s3)));
      continue;
    }
    const int64_t whole = t.vectors / t.width * t.width;
    int64_t lane = 0;
    for (; lane + 4 <= t.width; lane += 4) {
      float* const o = out + lane * kLanes;
      Vector s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();  // a tile's own sum: one long sum rounds more
      for (int64_t i = lane; i < whole; i += t.width) {
        s0 += in.template value<F>(i);
        s1 += in.template value<F>(i + 1);
        s2 += in.template value<F>(i + 2);
        s3 += in.template value<F>(i + 3);
      }
      store(o, load(o) + s0), store(o + kLanes, load(o + kLanes) + s1);
      store(o + 2 * kLanes, load(o + 2 * kLanes) + s2), store(o + 3 * kLanes, load(o + 3 * kLanes) + s3);
    }
    for (; lane < t.width; ++lane) {
      Vector s = zero();
      for (int64_t i = lane; i < whole; i += t.width) s += in.template value<F>(i);
      store(out + lane * kLanes, load(out + lane * kLanes) + s);
    }
    for (int64_t i = whole; i < t.vectors; ++i) {
      float* const o = out + (i - whole) * kLanes;
      store(o, load(o) + in.template value<F>(i));
    }
  }
}

typedef void (*TileFunction)(const TileCall&);
const TileFunction kTileFunctions[OPCODE_COUNT][MODE_COUNT] = {
#define EVONORM_OP(name, operands) \
  {run_elementwise<OP_##name, operands, WRITE>, run_elementwise<OP_##name, operands, ADD>, run_reduce<OP_##name, operands>},
#include "opcodes.def"
#undef EVONORM_OP
};

}  // namespace EVONORM_ISA
}  // namespace evonorm
