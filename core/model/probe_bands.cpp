// Which pairs of features an encoding turns, found by what it does to single features, and passes
// in which some of them stand still.
#include <algorithm>
#include <cmath>

#include "model/probes.h"

namespace pesuite {

namespace {

// What the encoding makes of feature f at positions 0 and 1, in each head: [heads, 2, D].
struct Made {
  std::vector<double> queries, keys;
};

// Null where it changes more than the values of q and k.
std::optional<Made> make(Tape& t, const Composition& encoding, const ModelConfig& m, int layer,
                         std::int64_t length, std::int64_t f) {
  const std::int64_t D = m.head_dim();
  const auto unit = [&](std::int64_t heads) {  // [1, heads, T, D], feature f of the first two
    std::vector<float> data(static_cast<std::size_t>(heads * length * D));
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t n = 0; n < 2; ++n)
        data[static_cast<std::size_t>((h * length + n) * D + f)] = 1;
    return t.constant({1, heads, length, D}, data.data());
  };
  const std::vector<float> zeros(static_cast<std::size_t>(length * m.width));
  const Tape::Mark mark = t.mark();
  Attention a;
  a.q = unit(m.heads), a.k = a.v = unit(m.groups());
  encoding.attend(t, layer, t.constant({1, length, m.width}, zeros.data()), a);
  const auto read = [&](Tensor x, std::int64_t heads) {
    const Tensor two = ops::slice(t, x, 2, 0, 2);
    std::vector<double> out(static_cast<std::size_t>(heads * 2 * D));
    t.backend().download(out.data(), t.view(two));
    return out;
  };
  std::optional<Made> made;
  if (!a.rewrite && t.shape(a.q)[-1] == D) made = {read(a.q, m.heads), read(a.k, m.groups())};
  t.release_since(mark);
  return made;
}

// The pairs of one head from column f = what became of feature f, [D][2, D]; null where it is no
// rotation. At position 0 features stay where they are; at position 1 one goes to itself and to
// its partner, and they share their angle.
std::optional<std::vector<TurnedPair>> pairs_of(const std::vector<std::vector<double>>& column) {
  const auto D = static_cast<int>(column.size());
  const auto at = [&](int n, int f, int to) {
    return column[static_cast<std::size_t>(f)][static_cast<std::size_t>(n * D + to)];
  };
  std::vector<TurnedPair> out;
  std::vector<int> partner(column.size(), -1);
  for (int f = 0; f < D; ++f)
    for (int to = 0; to < D; ++to) {
      if (to == f) continue;
      if (at(0, f, to) != 0) return {};
      if (at(1, f, to) == 0) continue;
      if (partner[static_cast<std::size_t>(f)] >= 0) return {};
      partner[static_cast<std::size_t>(f)] = to;
    }
  for (int f = 0; f < D; ++f) {
    const int g = partner[static_cast<std::size_t>(f)];
    if (g < 0) continue;
    const double c = at(1, f, f), s = at(1, f, g);
    const double size = std::hypot(c, s);
    if (partner[static_cast<std::size_t>(g)] != f || std::fabs(at(1, g, g) - c) > 1e-5 * size ||
        std::fabs(at(1, g, f) + s) > 1e-5 * size)
      return {};
    if (f < g) out.push_back({f, g, std::atan2(std::fabs(s), c), at(0, f, f)});
  }
  std::stable_sort(out.begin(), out.end(), [](const TurnedPair& a, const TurnedPair& b) {
    return a.frequency > b.frequency;
  });
  return out;
}

}  // namespace

std::size_t Rotation::pairs() const {
  std::size_t most = 0;
  for (const auto& layer : queries)
    for (const auto& head : layer) most = std::max(most, head.size());
  return most;
}

std::optional<Rotation> rotation_of(Model& model, const StepInfo& step) {
  if (step.length < 2) return {};
  const ModelConfig& m = model.config();
  const auto D = static_cast<std::size_t>(m.head_dim());
  std::optional<Rotation> found = Rotation{};
  model.with_encoding(step, [&](Tape& t, const Composition& encoding) {
    for (int layer = 0; layer < m.layers; ++layer) {
      std::vector<Made> made;  // of each feature
      for (std::size_t f = 0; f < D; ++f) {
        const auto one = make(t, encoding, m, layer, step.length, static_cast<std::int64_t>(f));
        if (!one) return found.reset();
        made.push_back(*one);
      }
      const auto heads_of = [&](int heads, std::vector<double> Made::*side) {
        std::vector<std::vector<TurnedPair>> out;
        for (std::size_t h = 0; found && h < static_cast<std::size_t>(heads); ++h) {
          std::vector<std::vector<double>> columns;
          for (const Made& one : made) {
            const auto from = (one.*side).begin() + static_cast<std::ptrdiff_t>(h * 2 * D);
            columns.emplace_back(from, from + static_cast<std::ptrdiff_t>(2 * D));
          }
          const auto pairs = pairs_of(columns);
          if (!pairs)
            found.reset();
          else
            out.push_back(*pairs);
        }
        return out;
      };
      auto queries = heads_of(m.heads, &Made::queries), keys = heads_of(m.groups(), &Made::keys);
      if (!found) return;
      found->queries.push_back(std::move(queries));
      found->keys.push_back(std::move(keys));
    }
  });
  if (found && found->pairs() == 0) found.reset();
  return found;
}

Inspection holding(const Rotation& rotation, std::size_t from, std::size_t below) {
  // turned x, still x0: x' = x kept + x0 held, both [1, heads, 1, D]
  const auto hold = [from, below](Tape& t, Tensor turned, Tensor still,
                                  const std::vector<std::vector<TurnedPair>>& heads) {
    const std::int64_t D = t.shape(turned)[-1], H = t.shape(turned)[1];
    std::vector<float> kept(static_cast<std::size_t>(H * D), 1.0f), held(kept.size(), 0.0f);
    for (std::size_t h = 0; h < heads.size(); ++h)
      for (std::size_t r = from; r < std::min(below, heads[h].size()); ++r)
        for (const int f : {heads[h][r].first, heads[h][r].second}) {
          const std::size_t at = h * static_cast<std::size_t>(D) + static_cast<std::size_t>(f);
          kept[at] = 0, held[at] = static_cast<float>(heads[h][r].factor);
        }
    const Tensor x = ops::binary(t, Binary::mul, turned, t.constant({1, H, 1, D}, kept.data()));
    const Tensor y = ops::binary(t, Binary::mul, still, t.constant({1, H, 1, D}, held.data()));
    return ops::binary(t, Binary::add, x, y);
  };
  Inspection look;
  look.amend = [rotation, hold](int layer, Tape& t, Tensor q, Tensor k, Attention& a) {
    const auto l = static_cast<std::size_t>(layer);
    a.q = hold(t, a.q, q, rotation.queries[l]);
    a.k = hold(t, a.k, k, rotation.keys[l]);
  };
  return look;
}

}  // namespace pesuite
