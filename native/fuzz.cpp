// Feeds programs, whole and damaged, at random shapes to the kernel; `make sanitize` builds it with the address and
// undefined-behaviour sanitizers.   fuzz PROGRAMS SECONDS   (PROGRAMS: for each its count of words, then the words)
//
// Any program that is accepted must run without touching what is not its own: buffers have exactly the size the ABI
// names, lie between forbidden pages and begin at any element. A whole program must be accepted, and give the same bits whatever the thread count,
// whatever lay in its buffers and workspace before, whether or not rows are kept, with and without an exchange of moments,
// and while another thread runs it too.
#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "program.h"

namespace {

std::mt19937 g_random(1);
int pick(int limit) { return (int)(g_random() % (unsigned)limit); }

[[noreturn]] void fail(const char* what, const EvoCall& call) {
  std::fprintf(stderr, "%s: %s, batch %d channels %d plane %d groups %d layout %d dtype %d threads %d\n", what, evo_isa(),
               (int)call.batch, (int)call.channels, (int)call.plane, call.groups, call.layout, call.dtype, call.threads);
  std::abort();
}

// Between two pages that nobody may touch, against one or the other: machine code has no sanitizer inside.
class Buffer {
 public:
  Buffer(int64_t elements, int64_t element_bytes, int fill) : size_((size_t)(elements * element_bytes)) {
    const size_t inner = (size_ + kPage - 1) / kPage * kPage;
    mapped_ = inner + 2 * kPage;
    pages_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED) std::abort();
    if (inner && mprotect(pages_ + kPage, inner, PROT_READ | PROT_WRITE)) std::abort();
    begin_ = pages_ + kPage + (pick(2) ? 0 : inner - size_);
    std::memset(begin_, fill, size_);
  }
  Buffer(Buffer&& other) noexcept : size_(other.size_), mapped_(other.mapped_), pages_(other.pages_), begin_(other.begin_) {
    other.pages_ = nullptr;
  }
  ~Buffer() {
    if (pages_) munmap(pages_, mapped_);
  }
  template <class T> T* as() const { return reinterpret_cast<T*>(begin_); }
  bool operator!=(const Buffer& other) const { return std::memcmp(as<char>(), other.as<char>(), size_) != 0; }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_, mapped_;
  char *pages_, *begin_;
};

// Plain numbers, now and then with an infinity or a NaN among them.
Buffer numbers(int64_t count, int32_t dtype) {
  Buffer made(count, dtype == EVO_FLOAT32 ? 4 : 2, 0);
  const uint16_t special[] = {0x7f80, 0xff80, 0x7fc0};  // in bf16; as fp16 they are other NaNs
  for (int64_t i = 0; i < count; ++i) {
    const float value = (float)pick(2000) / 500.0f - 2.0f;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (dtype == EVO_FLOAT32) made.as<float>()[i] = value;
    else made.as<uint16_t>()[i] = (uint16_t)(dtype == EVO_BFLOAT16 ? bits >> 16 : 0x3000 | pick(0x1000) | pick(2) << 15);
  }
  if (pick(20) == 0) {
    const int at = pick((int)count), which = pick(3);
    if (dtype == EVO_FLOAT32) made.as<float>()[at] = which == 2 ? NAN : which ? -INFINITY : INFINITY;
    else made.as<uint16_t>()[at] = special[which];
  }
  return made;
}

struct Inputs {
  Buffer x, gy;
  std::vector<Buffer> parameters;
};

struct Outputs {
  Buffer y, grad_x, saved, exports;
  std::vector<Buffer> gradients;
  int32_t status;
};

int32_t alone(void*, double*, int64_t) { return 0; }  // an exchange with nobody else changes nothing

EvoCall random_shape() {
  const int kChannels[] = {1, 3, 4, 8, 12, 16, 20, 33, 64, 96, 520, 1030};
  const int kPlanes[] = {1, 2, 9, 16, 35, 64, 72, 144, 576, 600, 2401, 4608};
  EvoCall call{};
  call.batch = 1 + pick(5);
  call.channels = kChannels[pick(12)];
  call.plane = kPlanes[pick(12)];
  if (call.channels * call.plane > 40000) call.plane = kPlanes[pick(5)];
  call.groups = 1 + pick((int)call.channels);
  while (call.channels % call.groups) --call.groups;
  call.layout = pick(2), call.dtype = pick(3), call.threads = 1 + pick(3);
  call.exchange = pick(3) ? nullptr : alone;
  call.everywhere = (double)(call.batch * call.plane);
  return call;
}

int64_t floats(evonorm::Kind kind, const EvoCall& call) {
  return kind == evonorm::KIND_SAMPLE ? call.batch * call.channels : call.channels;
}

Inputs random_inputs(const EvoProgram& program, const EvoCall& call) {
  const int64_t elements = call.batch * call.channels * call.plane;
  Inputs made{numbers(elements, call.dtype), numbers(elements, call.dtype), {}};
  for (evonorm::Kind kind : program.parameters) made.parameters.push_back(numbers(floats(kind, call), EVO_FLOAT32));
  return made;
}

Outputs make_outputs(const EvoProgram& program, const EvoCall& call, int fill) {
  const int64_t elements = call.batch * call.channels * call.plane, width = call.dtype == EVO_FLOAT32 ? 4 : 2;
  Outputs made{Buffer(elements, width, fill), Buffer(elements, width, fill),
               Buffer(evo_saved_floats(&program, call.batch, call.channels), 4, fill),
               Buffer(program.exports * call.channels, 4, fill), {}, EVO_OK};
  for (evonorm::Kind kind : program.gradients) made.gradients.emplace_back(floats(kind, call), 4, fill);
  return made;
}

void run(const EvoProgram& program, EvoCall call, const Inputs& in, Outputs& out) {
  std::vector<const float*> parameters;
  std::vector<float*> gradients;
  for (const Buffer& each : in.parameters) parameters.push_back(each.as<float>());
  for (const Buffer& each : out.gradients) gradients.push_back(each.as<float>());
  call.x = in.x.as<void>(), call.gy = in.gy.as<void>(), call.out = out.y.as<void>();
  call.parameters = parameters.data(), call.gradients = gradients.data();
  call.saved = out.saved.as<float>(), call.exports = out.exports.as<float>();
  out.status = evo_forward(&program, &call);
  call.out = out.grad_x.as<void>();
  if (out.status == EVO_OK) out.status = evo_backward(&program, &call);
}

void compare(const EvoProgram& program, const EvoCall& call, const Outputs& a, const Outputs& b) {
  bool writes_grad_x = false;
  for (const evonorm::Phase& phase : program.backward) writes_grad_x |= phase.writes_out;
  if (a.y != b.y || a.exports != b.exports) fail("forward is not repeatable", call);
  if (writes_grad_x && a.grad_x != b.grad_x) fail("grad_x is not repeatable", call);
  for (size_t i = 0; i < a.gradients.size(); ++i)
    if (a.gradients[i] != b.gradients[i]) fail("a parameter's gradient is not repeatable", call);
}

// A second run on buffers with other contents, another thread count and, in turns, a workspace of its own; one without
// rows to keep.
void check_repeat(const EvoProgram& program, EvoCall call, const Inputs& in, const Outputs& first) {
  call.threads = 1 + pick(3);
  call.exchange = pick(3) ? nullptr : alone;
  Outputs second = make_outputs(program, call, 0x7f), third = make_outputs(program, call, 0x01);
  if (pick(3) == 0) {
    std::thread other([&] { run(program, call, in, second); });
    run(program, call, in, third);
    other.join();
    compare(program, call, first, third);
  } else {
    run(program, call, in, second);
  }
  if (second.status != EVO_OK) fail("a repeat was refused", call);
  compare(program, call, first, second);
  std::vector<const float*> parameters;
  for (const Buffer& each : in.parameters) parameters.push_back(each.as<float>());
  call.x = in.x.as<void>(), call.out = third.y.as<void>(), call.exports = third.exports.as<float>();
  call.parameters = parameters.data();
  if (evo_forward(&program, &call) != EVO_OK || first.y != third.y) fail("y depends on whether rows are kept", call);
}

// One thing that makes no sense in an otherwise good call: refused before any memory is touched.
void check_bad_call(const EvoProgram& program, EvoCall call, const Inputs& in) {
  call.x = in.x.as<void>(), call.gy = in.gy.as<void>(), call.out = in.x.as<void>();
  call.exchange = nullptr;
  const int64_t sizes[] = {0, -1, INT64_MIN, INT64_MAX, int64_t(1) << 41};
  switch (pick(8)) {
    case 0: call.batch = sizes[pick(5)]; break;
    case 1: call.channels = sizes[pick(5)]; break;
    case 2: call.plane = sizes[pick(5)]; break;
    case 3: call.groups = pick(2) ? -pick(3) : (int32_t)call.channels + 1; break;
    case 4: call.layout = pick(2) ? 2 : -1; break;
    case 5: call.dtype = pick(2) ? 3 : -1; break;
    case 6: call.x = nullptr; break;
    default: call.out = nullptr;
  }
  if (evo_forward(&program, &call) != EVO_BAD_SHAPE || evo_backward(&program, &call) != EVO_BAD_SHAPE)
    fail("a call that makes no sense was taken", call);
}

void damage(std::vector<int32_t>& words) {
  const int32_t values[] = {-1, 0, 1, 2, 3, 5, 9, 40, 600, 1 << 20, INT32_MIN, INT32_MAX};
  for (int left = 1 + pick(4); left > 0; --left) {
    int32_t& word = words[pick((int)words.size())];
    word = pick(2) ? values[pick(12)] : (int32_t)((uint32_t)word + (uint32_t)pick(5) - 2u);
  }
  if (pick(10) == 0) words.resize(pick((int)words.size() + 1));
}

struct Tally {
  long whole = 0, damaged = 0, refused = 0;
  long visits[4][2][3][2] = {};  // instruction set, layout, dtype, several threads

  void count(int set, const EvoCall& call) {
    const bool shared = call.threads > 1 && call.batch * call.channels * call.plane >= 1 << 15;
    ++visits[set][call.layout][call.dtype][shared];
  }
  void print(const char* const* sets) const {
    std::printf("%ld runs of whole programs, %ld of damaged ones; %ld damaged programs refused\n", whole, damaged, refused);
    for (int set = 0; set < 4; ++set) {
      long least = visits[set][0][0][0], total = 0;
      for (int i = 0; i < 12; ++i) {
        const long each = visits[set][i / 6][i % 6 / 2][i % 2];
        least = each < least ? each : least, total += each;
      }
      std::printf("  %s: %ld runs, at least %ld of each layout, dtype and one or several threads\n", sets[set], total, least);
    }
  }
};

std::vector<std::vector<int32_t>> read_programs(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::vector<int32_t>> programs;
  int32_t count;
  while (file.read((char*)&count, 4) && count > 0) {
    programs.emplace_back(count);
    file.read((char*)programs.back().data(), 4 * (std::streamsize)count);
  }
  return programs;
}

void try_program(std::vector<int32_t> words, int set, Tally& tally) {
  const bool damaged = pick(2) == 0;
  if (damaged) damage(words);
  EvoProgram* program;
  const EvoCall call = random_shape();
  const int32_t status = evo_create(words.data(), words.size(), &program);
  if (status != EVO_OK) {
    if (!damaged && status != EVO_TOO_LARGE) fail("a whole program was refused", call);
    ++tally.refused;
    return;
  }
  const Inputs in = random_inputs(*program, call);
  Outputs out = make_outputs(*program, call, 0xff);
  run(*program, call, in, out);
  if (out.status != EVO_OK) fail("an accepted program did not run", call);
  if (!damaged) check_repeat(*program, call, in, out);
  if (pick(16) == 0) check_bad_call(*program, call, in);
  evo_destroy(program);
  ++(damaged ? tally.damaged : tally.whole);
  tally.count(set, call);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: fuzz PROGRAMS SECONDS\n"), 2;
  const auto programs = read_programs(arguments[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
  if (programs.empty()) return std::fprintf(stderr, "no programs in %s\n", arguments[1]), 2;
  const char* const sets[] = {"compiled", "portable", "avx2", "avx512"};
  Tally tally;
  while (std::chrono::steady_clock::now() < end) {
    const int set = pick(4);
    if (evo_force_isa(sets[set]) == EVO_OK) try_program(programs[pick((int)programs.size())], set, tally);
  }
  tally.print(sets);
}
