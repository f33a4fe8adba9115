// Turns the passes of a program into machine code, where the machine is an x86-64 with AVX2 and FMA and the system
// allows it. Values then stay in registers from the first instruction to the last; the interpreter of tile_pass.h
// writes every one of them to a tile buffer. It takes a fraction of a millisecond, at the creation of a program.
#pragma once
#include <cstddef>
#include <cstdint>

struct EvoProgram;

namespace evonorm {

// Small operand number i lies i * kSmallPitch floats behind `small`: loads, accumulators, then three per moment (the
// shift, the sum of t - shift and that of its square).
constexpr int64_t kSmallPitch = 528;  // 512 and a bit: not all at the same place in a page

struct TileArguments {
  const float* x;
  const float* gy;
  float* out;
  float* small;
  int64_t runs;     // how many runs of vectors, at least one
  int64_t vectors;  // in a run, at least one; code that computes two vectors at once is given half their number
  int64_t step;     // rows: bytes from the end of a run to the next; planes: bytes from a small operand to the next
};

// By row, vector i of a run goes with vector i of every small operand; by plane a whole run goes with one vector.
typedef void (*TileCode)(const TileArguments*);
struct LoopCode {
  TileCode single = nullptr;  // null: there is no machine code
  TileCode pairs = nullptr;   // for runs of an even number of vectors, where that is faster

  void run(TileArguments arguments) const {
    const bool paired = pairs && arguments.vectors % 2 == 0;
    if (paired) arguments.vectors /= 2;
    (paired ? pairs : single)(&arguments);
  }
};

void compile_passes(EvoProgram& program);

}  // namespace evonorm
