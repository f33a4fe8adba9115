// Straight-line vector arithmetic as data: what one vector of elements goes through in a pass.
//
// Nodes come before their users; equal nodes are one. Loads read memory as it is when the trace begins, all stores come
// after everything else, so a load may happen as late as one likes.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace evonorm {

enum class Act : int32_t {
  LOAD, CONSTANT,                                      // `where`; `bits`
  ADD, SUB, MUL, DIV, MIN, MAX, AND, OR, XOR,          // a op b; MIN and MAX give b where one is NaN
  LESS, EQUAL, ADD_INTEGER, SUB_INTEGER,               // a op b; comparisons give all ones or zero
  SELECT,                                              // a ? b : c, by the sign bits of a
  SQRT, TO_FLOAT, SHIFT_LEFT, SHIFT_RIGHT,             // of a; shifts by `bits`, to the right with the sign
  MUL_ADD, MUL_SUB, NEG_MUL_ADD,                       // a * b + c, a * b - c, c - a * b: made by contract()
  STORE,                                               // a to `where`
};

// A vector in memory: of x, gy or out at the current element, of a small operand, or one that is always the same.
struct Place {
  enum Base : int32_t { X, GY, OUT, SMALL, CONSTANT, SPILL } base;
  int32_t index;       // which small operand, constant or spilled value
  int32_t vector = 0;  // how many vectors further on
};

struct Node {
  Act act;
  int32_t a, b, c;
  Place where;
  uint32_t bits;
  int32_t chain;  // which of the vectors that are computed side by side
  int32_t instruction;
};

class Trace {
 public:
  int32_t add(Act act, int32_t a = -1, int32_t b = -1, int32_t c = -1, uint32_t bits = 0, Place where = {Place::X, 0}) {
    const std::array<int32_t, 8> key{(int32_t)act, a, b, c, (int32_t)bits, where.base, where.index, where.vector};
    const auto found = known_.emplace(key, (int32_t)nodes.size());
    if (found.second) nodes.push_back({act, a, b, c, where, bits, chain, instruction});
    return found.first->second;
  }

  // Products that only one sum of the same instruction reads go into it. Not those of another instruction: a value must
  // be the same wherever it is computed, or t - mean is not zero where it must be.
  void contract() {
    std::vector<int32_t> uses(nodes.size(), 0);
    for (const Node& node : nodes)
      for (int32_t i : {node.a, node.b, node.c})
        if (i >= 0) ++uses[i];
    const auto product = [&](int32_t i, const Node& sum) {
      return nodes[i].act == Act::MUL && uses[i] == 1 && nodes[i].instruction == sum.instruction;
    };
    for (Node& node : nodes) {
      if (node.act != Act::ADD && node.act != Act::SUB) continue;
      const bool sum = node.act == Act::ADD;
      if (product(node.b, node)) {
        node.act = sum ? Act::MUL_ADD : Act::NEG_MUL_ADD;
        node.c = node.a, node.a = nodes[node.b].a, node.b = nodes[node.b].b;
      } else if (product(node.a, node)) {
        node.act = sum ? Act::MUL_ADD : Act::MUL_SUB;
        node.c = node.b, node.b = nodes[node.a].b, node.a = nodes[node.a].a;
      }
    }
  }

  // Two chains that do the same are woven into each other, so that one has work while the other waits.
  void interleave() {
    std::vector<int32_t> chains[2], place(nodes.size(), -1);
    for (size_t n = 0; n < nodes.size(); ++n) chains[nodes[n].chain].push_back((int32_t)n);
    size_t next[2] = {0, 0};
    const auto is_placed = [&](int32_t n) { return n < 0 || place[n] >= 0; };
    std::vector<Node> woven;
    while (woven.size() < nodes.size())
      for (int k = 0; k < 2; ++k) {
        if (next[k] == chains[k].size()) continue;
        const int32_t n = chains[k][next[k]];
        Node node = nodes[n];
        if (!is_placed(node.a) || !is_placed(node.b) || !is_placed(node.c)) continue;
        for (int32_t* i : {&node.a, &node.b, &node.c})
          if (*i >= 0) *i = place[*i];
        place[n] = (int32_t)woven.size();
        woven.push_back(node);
        ++next[k];
      }
    nodes = woven;
  }

  std::vector<Node> nodes;
  int32_t chain = 0, instruction = 0;  // what is being recorded

 private:
  std::map<std::array<int32_t, 8>, int32_t> known_;
};

}  // namespace evonorm
