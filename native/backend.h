// One build of the engine per instruction set; dispatch.cpp picks one at run time.
#pragma once
#include <cstdint>

#include "program.h"

namespace evonorm {

typedef int32_t (*RunFunction)(const EvoProgram& program, const EvoCall& call, bool backward, int threads);

namespace portable { int32_t run(const EvoProgram&, const EvoCall&, bool, int); }
#if defined(__x86_64__)
namespace avx2 { int32_t run(const EvoProgram&, const EvoCall&, bool, int); }
namespace avx512 { int32_t run(const EvoProgram&, const EvoCall&, bool, int); }
#endif

}  // namespace evonorm
