// The engine built for avx2; see setup.py for the flags.
#if defined(__x86_64__)
#define EVONORM_ISA avx2
#include "engine.h"
#endif
