// Positions or distances that are not 0, 1, 2, ...: a list of the user's, or a random subset of
// 0 .. M-1 that is drawn anew for each forward pass (Ruoss et al. 2023).
#pragma once

#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <string>
#include <vector>

struct Chosen {
  std::vector<double> list;
  std::int64_t below;

  // From the options `list_name`, where there is one, and `random_name`.
  Chosen(const pes::Values& v, const char* list_name, const char* random_name)
      : list(list_name != nullptr ? v.reals(list_name) : std::vector<double>()),
        below(v.integer(random_name)) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] != std::floor(list[i]) || (i > 0 && list[i] == list[i - 1]))
        throw pes::Refusal("option '" + std::string(list_name) +
                           "' wants whole numbers, each but once");
    if (!list.empty() && below > 0)
      throw pes::Refusal("options '" + std::string(list_name) + "' and '" + random_name +
                         "' exclude each other");
  }
  bool any() const { return !list.empty() || below > 0; }
  bool stale(int from, int to) const { return below > 0 && from != to; }  // another draw

  // The first `count` numbers of this pass, increasing.
  std::vector<double> numbers(const pes::Step& s, std::int64_t count) const {
    std::vector<double> out;
    if (!any())
      for (std::int64_t n = 0; n < count; ++n) out.push_back(static_cast<double>(n));
    const std::int64_t size = list.empty() ? below : static_cast<std::int64_t>(list.size());
    if (any() && size < count)
      throw pes::Refusal("this length needs " + std::to_string(count) + " numbers of the " +
                         std::to_string(size) + " that the options allow");
    if (!list.empty()) out.assign(list.begin(), list.begin() + count);
    // each subset is equally likely (Knuth's algorithm S)
    pes::Random random(s.seed, pes::purpose("chosen"), 0);
    for (std::int64_t n = 0; below > 0 && count > 0; ++n)
      if (random.below(static_cast<std::uint32_t>(below - n)) < count) {
        out.push_back(static_cast<double>(n));
        --count;
      }
    return out;
  }
};

// Distances 0, 1, 2, ..., or what counts as them, with 0 always for a token itself.
class Distances {
 public:
  static constexpr pes_option drawn =
      pes::integer("random_distances", "0", 0, 1 << 24,
                   "draw the distances of each pass from 1 .. this - 1 and sort them; 0: do not");

  // From the options `list_name`, where there is one, and "random_distances".
  explicit Distances(const pes::Values& v, const char* list_name = nullptr)
      : chosen_(v, list_name, drawn.name) {
    if (chosen_.below == 1)
      throw pes::Refusal("option 'random_distances' wants 0, or 2 and more: they come from 1 on");
    if (chosen_.below > 0) --chosen_.below;  // drawn from 0 .. below - 2, distances are one more
  }
  bool random() const { return chosen_.below > 0; }
  bool stale(int from, int to) const { return chosen_.stale(from, to); }
  std::int64_t longest() const { return chosen_.below; }  // of those that are drawn from

  std::vector<double> of(const pes::Step& s) const {  // [offset + length]
    std::vector<double> d = chosen_.numbers(s, std::int64_t{s.offset} + s.length - 1);
    for (double& n : d) n += chosen_.list.empty() ? 1 : 0;
    d.insert(d.begin(), 0);
    return d;
  }

 private:
  Chosen chosen_;
};
