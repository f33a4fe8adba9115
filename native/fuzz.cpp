// Feeds programs, whole and damaged, at random shapes to the kernel; built with the address and undefined-behaviour
// sanitizers by `make sanitize`. Buffers have exactly the size the ABI names, so a stray access is seen.
//   fuzz PROGRAMS SECONDS      PROGRAMS: for each program its count of words, then the words
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "program.h"

namespace {

std::mt19937 g_random(1);
int pick(int limit) { return (int)(g_random() % (unsigned)limit); }

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

std::vector<float> numbers(size_t count) {
  std::vector<float> made(count);
  for (float& each : made) each = (float)pick(2000) / 500.0f - 2.0f;
  if (count && pick(20) == 0) made[pick((int)count)] = pick(2) ? INFINITY : NAN;
  return made;
}

void run(const EvoProgram* program) {
  const int kChannels[] = {1, 3, 4, 8, 12, 16, 20, 33, 64, 520, 1030}, kPlanes[] = {1, 2, 9, 35, 64, 72, 144, 600, 2401};
  EvoCall call{};
  call.batch = 1 + pick(4);
  call.channels = kChannels[pick(11)];
  call.plane = kPlanes[pick(9)];
  if (call.channels * call.plane > 40000) call.plane = 9;
  call.groups = 1 + pick((int)call.channels);
  while (call.channels % call.groups) --call.groups;
  call.layout = pick(2), call.dtype = pick(3), call.threads = 1 + pick(3);
  const size_t elements = (size_t)(call.batch * call.channels * call.plane);
  const size_t bytes = elements * (call.dtype == EVO_FLOAT32 ? 4 : 2);
  std::vector<float> x = numbers((bytes + 3) / 4), gy = numbers((bytes + 3) / 4);
  std::unique_ptr<char[]> out(new char[bytes]);
  std::vector<float> saved((size_t)evo_saved_floats(program, call.batch, call.channels));
  std::vector<float> exports((size_t)(program->exports * call.channels));
  std::vector<std::vector<float>> vectors;
  std::vector<float*> parameters, gradients;
  for (int i = 0; i < program->parameters + program->gradients; ++i) vectors.push_back(numbers((size_t)call.channels));
  for (int i = 0; i < program->parameters + program->gradients; ++i)
    (i < program->parameters ? parameters : gradients).push_back(vectors[i].data());
  call.x = x.data(), call.gy = gy.data(), call.out = out.get(), call.saved = saved.data();
  call.parameters = parameters.data(), call.gradients = gradients.data(), call.exports = exports.data();
  if (evo_forward(program, &call) != EVO_OK || evo_backward(program, &call) != EVO_OK) std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: fuzz PROGRAMS SECONDS\n"), 2;
  const auto programs = read_programs(arguments[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
  if (programs.empty()) return std::fprintf(stderr, "no programs in %s\n", arguments[1]), 2;
  const char* const sets[] = {"portable", "avx2", "avx512"};
  long runs = 0, damaged = 0, refused = 0;
  while (std::chrono::steady_clock::now() < end) {
    evo_force_isa(sets[pick(3)]);
    std::vector<int32_t> words = programs[pick((int)programs.size())];
    const bool damage = pick(2) == 0;
    for (int i = 0; damage && i < 1 + pick(4); ++i) {
      const int32_t values[] = {-1, 0, 1, 2, 3, 5, 9, 40, 600, 1 << 20, INT32_MIN, INT32_MAX};
      int32_t& word = words[pick((int)words.size())];
      word = pick(2) ? values[pick(12)] : (int32_t)((uint32_t)word + (uint32_t)pick(5) - 2u);
    }
    if (damage && pick(10) == 0) words.resize(pick((int)words.size() + 1));
    EvoProgram* program;
    const int32_t status = evo_create(words.data(), words.size(), &program);
    if (status != EVO_OK && !damage) std::abort();
    if (status != EVO_OK) { ++refused; continue; }
    run(program);
    evo_destroy(program);
    ++runs, damaged += damage;
  }
  std::printf("%ld runs, %ld of them of damaged programs; %ld damaged programs refused\n", runs, damaged, refused);
}
