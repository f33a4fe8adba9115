// Included into every source (setup.py): what is built on a new Linux runs on every one with glibc 2.28, as torch does.
#pragma once
#if defined(__linux__) && defined(__x86_64__)
#include <features.h>
#ifdef __GLIBC__
// Since glibc 2.29 these two have a version without the old error handling; the values are the same.
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
#endif
#endif
