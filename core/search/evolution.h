// Evolutionary search for a list of numbers that never fall, as Ding et al. 2024 (arXiv:2402.13753,
// section 3.3) search factors for the frequencies of a rotary encoding: mutation and crossover of
// the best, elitist, with every draw in the order of the published code, whose traces it replays.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <pesuite/random.hpp>

namespace pesuite {

struct EvolutionConfig {
  double scale = 1;          // entries lie in 1 .. 1 + scale + step
  double step = 0.01;        // of the grid that mutations draw from
  int population = 64;       // at first: the starts, and mutations of the first
  int parents = 32;          // the best, which live on
  int iterations = 40;       // each adds
  int mutations = 16;        // of random parents and
  int crossovers = 16;       // of random pairs of them
  int crossover_tries = 20;  // passes until a crossover is given up for a mutation
  bool pieces = false;       // two numbers a, b in front: entries to a are 1, those past b `scale`
  int mutation_tries = 20000;  // passes until a mutation is given up: nothing new may be left
};

struct Individual {
  std::vector<double> genes;
  double loss = 0;
};

// Where the draws come from. The order of calls is part of the definition.
class Draws {
 public:
  virtual ~Draws() = default;
  virtual double uniform() = 0;  // [0, 1)
  virtual int below(int n) = 0;  // 0 .. n-1
  virtual double normal(double mean, double sd) = 0;
  virtual std::pair<int, int> two_below(int n) = 0;  // distinct
};
class SeededDraws final : public Draws {
 public:
  explicit SeededDraws(std::uint64_t seed);
  double uniform() override;
  int below(int n) override;
  double normal(double mean, double sd) override;
  std::pair<int, int> two_below(int n) override;

 private:
  pes::Random random_;
};

struct Evolution {
  Individual best;
  std::vector<Individual> history;  // everybody, in the order of creation
};

// Minimises `loss` over lists as long as the starts, which never fall and hold numbers from 1 on;
// the best is no worse than any of them. Error (usage) when the numbers of the configuration do
// not fit together. `heard` gets the best after each iteration; false ends the search there.
Evolution evolve(const EvolutionConfig&, const std::vector<std::vector<double>>& starts,
                 const std::function<double(std::span<const double>)>& loss, Draws&,
                 const std::function<bool(int iteration, const Individual& best)>& heard = {});

}  // namespace pesuite
