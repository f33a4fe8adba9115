// The engine built for avx512; see setup.py for the flags.
#if defined(__x86_64__)
#define EVONORM_ISA avx512
#include "engine.h"
#endif
