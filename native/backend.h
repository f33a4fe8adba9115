// One build of the engine per instruction set; dispatch.cpp picks one at run time.
#pragma once
#include <cstdint>

#include "program.h"

namespace evonorm {

// `compiled`: passes run as machine code where the program has it, else they are interpreted.
typedef int32_t (*RunFunction)(const EvoProgram& program, const EvoCall& call, bool backward, bool compiled, int threads);

namespace portable { int32_t run(const EvoProgram&, const EvoCall&, bool, bool, int); }
#if defined(__x86_64__)
namespace avx2 { int32_t run(const EvoProgram&, const EvoCall&, bool, bool, int); }
namespace avx512 { int32_t run(const EvoProgram&, const EvoCall&, bool, bool, int); }
#endif

}  // namespace evonorm
