// The engine without any instruction set beyond the compiler's baseline.
#define EVONORM_ISA portable
#include "engine.h"
