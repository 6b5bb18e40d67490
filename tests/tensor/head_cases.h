// Heads on their way from where they stand side by side and back, turned in all the ways that an
// encoding can: what each backend is tested with.
#pragma once

#include "tests/support.h"

namespace pesuite::testing {

struct HeadCase {
  std::string name;
  std::vector<Shape> tables;  // of q and k, [.., pairs]; one without pairs: does not turn
  Pairs pairs = Pairs::half;
  int missing = -1;  // of q, k and v, the part that is not wanted or whose gradient is 0
};
inline void PrintTo(const HeadCase& c, std::ostream* out) {
  *out << c.name;
}

// q [2, 4, 21, 38], k and v [2, 2, 21, 38].
inline std::vector<HeadCase> head_cases() {
  const Shape none = {0};
  std::vector<HeadCase> all = {{"plain", {none, none}},
                               {"q_alone", {none, none}, Pairs::half, 1},
                               {"only_q_turns", {{21, 19}, none}},
                               {"only_k_turns", {none, {21, 3}}}};
  for (const Pairs p : {Pairs::half, Pairs::interleaved}) {
    const std::string pairs = p == Pairs::half ? "_half" : "_interleaved";
    all.push_back({"all_features" + pairs, {{21, 19}, {21, 19}}, p});
    all.push_back({"some_features" + pairs, {{21, 17}, {21, 2}}, p});
    all.push_back({"by_head" + pairs, {{4, 21, 17}, {2, 1, 5}}, p});
    all.push_back({"by_batch" + pairs, {{2, 1, 21, 19}, {2, 2, 21, 1}}, p});
    all.push_back({"by_nothing" + pairs, {{19}, {1, 1, 1, 4}}, p});
    for (const int missing : {0, 1, 2})
      all.push_back(
          {"without_" + std::string(1, "qkv"[missing]) + pairs, {{21, 19}, {21, 19}}, p, missing});
  }
  return all;
}

// q, k, v and dx [2, 21, 304].
inline std::vector<Values> heads_there_and_back(Backend& b, const HeadCase& c, bool add) {
  const Shape parts[] = {{2, 4, 21, 38}, {2, 2, 21, 38}, {2, 2, 21, 38}};
  std::vector<void*> memory;
  std::uint64_t seed = 0;
  const auto make = [&](const Shape& shape) {
    const Values v = random_values(shape, ++seed);
    memory.push_back(b.allocate(v.data.size() * b.element_size()));
    b.upload({memory.back(), shape}, v.data.data());
    return memory.back();
  };
  const auto turn = [&](const Shape& tables) {
    if (tables.count() == 0) return Turn{};
    return Turn{{make(tables), tables}, {make(tables), tables}, c.pairs};
  };
  const Turn of_q = turn(c.tables[0]), of_k = turn(c.tables[1]);
  Out all[4];
  for (int i = 0; i < 3; ++i) all[i] = {make(parts[i]), parts[i], add};
  all[3] = {make({2, 21, 8 * 38}), {2, 21, 8 * 38}, add};
  const auto given = [&](int i) { return i == c.missing ? nullptr : all[i].data; };
  const auto out = [&](int i) { return Out{given(i), parts[i], add}; };
  const auto view = [&](int i) { return View{given(i), parts[i]}; };
  const View x{make(all[3].shape), all[3].shape};
  b.heads_forward(out(0), out(1), out(2), x, of_q, of_k);
  b.heads_backward(all[3], view(0), view(1), view(2), of_q, of_k);
  std::vector<Values> result;
  for (const Out& o : all) {
    result.push_back({o.shape, std::vector<double>(static_cast<std::size_t>(o.shape.count()))});
    b.download(result.back().data.data(), o.view());
  }
  for (void* m : memory) b.release(m);
  return result;
}

inline void expect_heads_as_the_reference(Backend& b, const HeadCase& c) {
  for (const bool add : {false, true}) {
    const auto wanted = heads_there_and_back(*open_backend("reference", {}), c, add);
    const auto actual = heads_there_and_back(b, c, add);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      expect_close(actual[i], wanted[i], 1e-6, i < 3 ? std::string(1, "qkv"[i]) : "dx");
  }
}

}  // namespace pesuite::testing
