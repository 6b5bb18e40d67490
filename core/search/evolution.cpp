#include "search/evolution.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace pesuite {

SeededDraws::SeededDraws(std::uint64_t seed) : random_(seed, pes::purpose("evolution"), 0) {}
double SeededDraws::uniform() {
  return random_.uniform();
}
int SeededDraws::below(int n) {
  return static_cast<int>(random_.below(static_cast<std::uint32_t>(n)));
}
double SeededDraws::normal(double mean, double sd) {
  return mean + sd * random_.normal();
}
std::pair<int, int> SeededDraws::two_below(int n) {
  const int a = below(n), b = below(n - 1);
  return {a, b + (b >= a ? 1 : 0)};
}

namespace {

using Genes = std::vector<double>;

// numpy's arange: how many values, and the one at i, to the bit.
struct Steps {
  double start, stop, step;
  int size() const { return std::max(0, static_cast<int>(std::ceil((stop - start) / step))); }
  double operator[](int i) const { return start + i * ((start + step) - start); }
};

bool close(const Genes& a, const Genes& b) {  // numpy's allclose
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= 1e-8 + 1e-5 * std::fabs(b[i]))) return false;
  return true;
}

class Search {
 public:
  Search(const EvolutionConfig& c, const std::function<double(std::span<const double>)>& loss,
         Draws& draws)
      : c_(c), loss_(loss), draws_(draws), first_(c.pieces ? 2 : 0) {
    const Steps all{1, 1 + c.scale + c.step, c.step};
    above_ = all[all.size() - 1] + c.step;
  }

  Individual add(Genes genes) {
    const double loss = loss_(genes);
    history.push_back({std::move(genes), loss});
    return history.back();
  }

  // Changes entries until the list is new and does not fall.
  std::optional<Individual> mutate(const Individual& from) {
    Genes g = from.genes;
    for (int i = 0; i < c_.mutation_tries; ++i) {
      if (fits(g)) return add(std::move(g));
      c_.pieces ? change_pieces(g) : change(g);
    }
    return std::nullopt;
  }

  // Takes entries of `b` into `a` until the list is new and does not fall.
  std::optional<Individual> cross(const Individual& a, const Individual& b) {
    if (close(a.genes, b.genes)) return std::nullopt;
    Genes g = a.genes;
    for (int pass = 0; pass < c_.crossover_tries; ++pass)
      for (std::size_t i = 0; i < g.size(); ++i) {
        if (!(draws_.uniform() < 0.3)) continue;
        if (draws_.uniform() < 0.5) {
          g[i] = b.genes[i];
          if (i < first_) g[0] = b.genes[0], g[1] = b.genes[1];  // the two make sense together
        }
        if (fits(g)) return add(std::move(g));
      }
    return std::nullopt;
  }

  std::vector<Individual> history;

 private:
  bool fits(const Genes& g) const {
    if (!std::is_sorted(g.begin() + static_cast<std::ptrdiff_t>(first_), g.end())) return false;
    if (c_.pieces && g[0] > g[1]) return false;
    return std::none_of(history.begin(), history.end(),
                        [&](const Individual& old) { return close(old.genes, g); });
  }
  // A value of the grid between the neighbours. The published ranges: of the first entry without
  // its right neighbour, of the others with it.
  void redraw(Genes& g, std::size_t i) {
    const bool last = i + 1 == g.size();
    const Steps grid{i == first_ ? 1.0 : g[i - 1],
                     last ? above_ : g[i + 1] + (i == first_ ? 0 : c_.step), c_.step};
    if (grid.size() > 0) g[i] = grid[draws_.below(grid.size())];
  }
  void change(Genes& g) {
    for (std::size_t i = 0; i < g.size(); ++i)
      if (draws_.uniform() < 0.3) redraw(g, i);
  }
  // Moves the ends of the middle piece until they are in order, then redraws in it. The last two
  // entries stay, as published.
  void change_pieces(Genes& g) {
    constexpr double sd = 2;
    const auto entries = static_cast<double>(g.size() - first_);
    double &a = g[0], &b = g[1];
    int moves = 0;
    do {
      double& end = draws_.uniform() < 0.5 ? a : b;
      end = std::trunc(draws_.normal(end, sd)) + 0.0;  // never -0
      if (++moves % 100000 == 0) a = 0, b = 1;         // a walk may stray for long
    } while (!(0 <= a && a < b && b < entries));
    for (std::size_t i = first_; i + first_ < g.size(); ++i) {
      if (!(draws_.uniform() < 0.3)) continue;
      const auto at = static_cast<double>(i - first_);
      if (at <= a)
        g[i] = 1;
      else if (at > b)
        g[i] = c_.scale;
      else
        redraw(g, i);
    }
  }

  const EvolutionConfig& c_;
  const std::function<double(std::span<const double>)>& loss_;
  Draws& draws_;
  std::size_t first_;  // entry of the list proper
  double above_;       // end of the last entry's range
};

void check(const EvolutionConfig& c, const std::vector<std::vector<double>>& starts) {
  PES_CHECK(!starts.empty());
  const auto size = starts[0].size();
  for (const auto& s : starts) PES_CHECK(s.size() == size && size > (c.pieces ? 3u : 1u));
  if (c.parents < 2 || c.parents > c.population)
    fail(Exit::usage, "a search keeps 2 parents or more, at most its population of {}, not {}",
         c.population, c.parents);
  if (!(c.step > 0 && c.scale > 0))
    fail(Exit::usage, "a search needs a step and a scale above 0, not {} and {}", c.step, c.scale);
}

}  // namespace

Evolution evolve(const EvolutionConfig& c, const std::vector<std::vector<double>>& starts,
                 const std::function<double(std::span<const double>)>& loss, Draws& draws,
                 const std::function<bool(int, const Individual&)>& heard) {
  check(c, starts);
  Search search(c, loss, draws);
  std::vector<Individual> population;
  for (const auto& s : starts) population.push_back(search.add(s));
  const auto add = [&](std::optional<Individual> child) {
    if (child) population.push_back(std::move(*child));
  };
  while (static_cast<int>(population.size()) < c.population) {
    const std::size_t before = population.size();
    add(search.mutate(search.history[0]));
    if (population.size() == before) break;  // nothing new is left
  }
  const auto select = [&] {  // the best, equals in the order of their creation
    std::stable_sort(population.begin(), population.end(),
                     [](const auto& a, const auto& b) { return a.loss < b.loss; });
    if (static_cast<int>(population.size()) > c.parents)
      population.resize(static_cast<std::size_t>(c.parents));
  };
  for (int i = 0; i < c.iterations; ++i) {
    select();
    if (heard && !heard(i, population[0])) break;
    const std::vector<Individual> parents = population;
    const int n = static_cast<int>(parents.size());
    const auto parent = [&](int p) -> const Individual& {
      return parents[static_cast<std::size_t>(p)];
    };
    for (int m = 0; m < c.mutations; ++m) add(search.mutate(parent(draws.below(n))));
    for (int x = 0; x < c.crossovers && n > 1; ++x) {
      const auto [a, b] = draws.two_below(n);
      auto child = search.cross(parent(std::min(a, b)), parent(std::max(a, b)));
      add(child ? std::move(child) : search.mutate(parent(std::min(a, b))));
    }
  }
  select();
  return {population[0], std::move(search.history)};
}

}  // namespace pesuite
