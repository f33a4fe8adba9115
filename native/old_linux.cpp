// What newer C++ and C libraries would be asked for, answered by ourselves, so that older ones do (see old_linux.h).
#include <new>

#if defined(__linux__)
// shared_ptr asks this flag of glibc 2.32 whether it may count without atomic operations. Ours says: never.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// GCC 11's `new T[n]` of too large an n calls this; the C++ library has it since then only.
namespace std {
__attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
#endif
