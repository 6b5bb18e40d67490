#include "check/slots.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

namespace pesuite::checks {

namespace {

using Fits = std::function<bool(const Shape&)>;

Shape shape_of(const std::vector<std::int64_t>& extents) {
  return Shape::of(static_cast<int>(extents.size()), extents.data());
}

// What turns `found` into something that fits, as the end of a sentence; "" where nothing simple
// does.
std::string cause(const Shape& found, const Fits& fits) {
  std::vector<std::int64_t> all, kept;
  for (int i = 0; i < found.rank(); ++i) {
    all.push_back(found[i]);
    if (found[i] != 1) kept.push_back(found[i]);
  }
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      std::vector<std::int64_t> other = all;
      std::swap(other[a], other[b]);
      if (fits(shape_of(other))) return fmt::format("; its axes {} and {} are swapped", a, b);
    }
  while (kept.size() <= Shape::max_rank) {
    if (fits(shape_of(kept))) return fmt::format("; reshape() it to {}", shape_of(kept).text());
    kept.insert(kept.begin(), 1);
  }
  return "";
}

std::string features_misfit(const char* slot, const Shape& found, std::int64_t batch,
                            std::int64_t heads, std::int64_t length) {
  const Fits fits = [&](const Shape& s) {
    return s.rank() == 4 && s[0] == batch && s[1] == heads && s[2] == length;
  };
  if (fits(found)) return "";
  return fmt::format("it left {} {}, wanted [{}, {}, {}, D]{}", slot, found.text(), batch, heads,
                     length, cause(found, fits));
}

std::string distance_misfit(const Shape& found, std::int64_t heads, std::int64_t length) {
  const Fits fits = [&](const Shape& s) {
    return s.rank() == 2 && (s[0] == 1 || s[0] == heads) && s[1] >= length;
  };
  if (fits(found)) return "";
  std::string why = cause(found, fits);
  if (found.rank() == 2 && (found[0] == 1 || found[0] == heads) && found[1] < length)
    why = fmt::format("; it ends at distance {}, and distances go to {}", found[1] - 1, length - 1);
  return fmt::format(
      "it left the slot distance {}, wanted [{} or 1, {} or more]: heads, then "
      "distances{}",
      found.text(), heads, length, why);
}

std::string bias_misfit(const Shape& found, const Shape& full) {
  const Fits fits = [&](const Shape& s) {
    const auto b = broadcast(s, full);
    return b && *b == full;
  };
  if (fits(found)) return "";
  return fmt::format(
      "it left the slot bias {}, which does not broadcast to {}: batch, heads, "
      "queries, keys{}",
      found.text(), full.text(), cause(found, fits));
}

}  // namespace

std::string misfit(Tape& t, const ModelShape& m, int batch, int length, const Attention& a) {
  const Shape q = t.shape(a.q), k = t.shape(a.k);
  std::string wrong = features_misfit("q", q, batch, m.heads, length);
  if (wrong.empty()) wrong = features_misfit("k", k, batch, m.kv_heads, length);
  if (wrong.empty() && q[3] != k[3])
    wrong = fmt::format(
        "it left q {} and k {}, whose last axes differ; what widens one must widen the other",
        q.text(), k.text());
  if (wrong.empty() && a.distance) wrong = distance_misfit(t.shape(a.distance), m.heads, length);
  if (wrong.empty() && a.bias)
    wrong = bias_misfit(t.shape(a.bias), {batch, m.heads, length, length});
  return wrong;
}

std::string misfit(const Shape& embedding, const Shape& wanted) {
  const Fits fits = [&](const Shape& s) { return s == wanted; };
  if (fits(embedding)) return "";
  return fmt::format("it returned {}, wanted {}: batch, positions, width{}", embedding.text(),
                     wanted.text(), cause(embedding, fits));
}

}  // namespace pesuite::checks
