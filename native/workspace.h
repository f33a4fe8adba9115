// Memory of one call: one block per calling thread, grown when needed and kept for the next call.
//
// Inside the namespace of the instruction set, as everything that the engine inlines: the linker must not merge a
// function built for AVX-512 with one that runs anywhere.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace evonorm {
namespace EVONORM_ISA {

class Block {
 public:
  ~Block() { std::free(memory_); }

  // At least `bytes` bytes, aligned to a cache line, or null. The contents are anything.
  char* reserve(size_t bytes) {
    if (bytes > size_) {
      std::free(memory_);
      size_ = (bytes + bytes / 4 + 4095) / 4096 * 4096;
      memory_ = static_cast<char*>(std::aligned_alloc(4096, size_));
      if (!memory_) size_ = 0;
    }
    return memory_;
  }
  void release_if_larger_than(size_t bytes) {
    if (size_ <= bytes) return;
    std::free(memory_);
    memory_ = nullptr, size_ = 0;
  }

 private:
  char* memory_ = nullptr;
  size_t size_ = 0;
};

// Cuts arrays from a block. With a null base it only adds up how much is needed.
class Carver {
 public:
  explicit Carver(char* base) : base_(base) {}

  template <class T> T* take(int64_t count) {
    T* const taken = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (size_t(count) * sizeof(T) + 63) / 64 * 64;
    return taken;
  }
  size_t used() const { return used_; }

 private:
  char* base_;
  size_t used_ = 0;
};

}  // namespace EVONORM_ISA
}  // namespace evonorm
