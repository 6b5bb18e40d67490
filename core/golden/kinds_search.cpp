// Traces of evolutionary searches: the recorded draws must make the same individuals again.
#include <cmath>

#include "base/error.h"
#include "golden/golden.h"
#include "search/evolution.h"

namespace pesuite::golden {

namespace {

class RecordedDraws final : public Draws {
 public:
  RecordedDraws(std::string name, std::vector<double> draws)
      : name_(std::move(name)), draws_(std::move(draws)) {}
  double uniform() override { return next(); }
  int below(int n) override {
    const double x = next();
    if (!(x >= 0 && x < n))
      fail(Exit::plugin, "{}: draw {} is {} where 0 .. {} was to be drawn", name_, at_ - 1, x,
           n - 1);
    return static_cast<int>(x);
  }
  double normal(double, double) override { return next(); }
  std::pair<int, int> two_below(int n) override {
    const int a = below(n);
    return {a, below(n)};
  }
  std::size_t left() const { return draws_.size() - at_; }

 private:
  double next() {
    if (at_ == draws_.size())
      fail(Exit::plugin, "{}: the search wants more than its {} draws", name_, at_);
    return draws_[at_++];
  }
  std::string name_;
  std::vector<double> draws_;
  std::size_t at_ = 0;
};

EvolutionConfig config_of(const Vector& v) {
  EvolutionConfig c;
  const auto number = [&](const char* key) {
    return v.number(std::string("hyper_params.") + key, std::nan(""));
  };
  const auto count = [&](const char* key) {
    return static_cast<int>(number("evo_scale") * number(key));
  };
  c.scale = v.number("scale", 1);
  c.step = number("list_step");
  c.population = count("population_size");
  c.parents = count("parents_size");
  c.iterations = count("max_time_budget");
  c.mutations = count("mutation_numbers");
  c.crossovers = count("crossover_size");
  c.crossover_tries = count("max_crossover_try");
  c.pieces = v.find("algorithm")->get<std::string>().find("Piece") != std::string::npos;
  return c;
}

}  // namespace

// The loss of a list is its squared distance to a target, of logarithms.
void check_search(Case& c) {
  const EvolutionConfig config = config_of(c.v);
  const std::vector<double> target = c.v.input("target").data;
  std::vector<double> start = c.v.input("init_factors").data;
  if (config.pieces) start.insert(start.begin(), 2, 0.0);
  RecordedDraws draws(c.v.name(), c.v.input("draws").data);
  const auto loss = [&](std::span<const double> genes) {
    const auto list = genes.last(target.size());
    double sum = 0;
    for (std::size_t i = 0; i < target.size(); ++i)
      sum += std::pow(std::log(list[i]) - std::log(target[i]), 2);
    return sum;
  };
  const Evolution e = evolve(config, {start}, loss, draws);
  if (draws.left() > 0)
    fail(Exit::plugin, "{}: the search leaves {} of its draws", c.v.name(), draws.left());
  std::vector<double> history, losses;
  for (std::size_t i = 0; i < e.history.size(); ++i) {
    // the published list has the mutations that fill the first population twice
    const int times = i > 0 && i < static_cast<std::size_t>(config.population) ? 2 : 1;
    for (int n = 0; n < times; ++n) {
      history.insert(history.end(), e.history[i].genes.begin(), e.history[i].genes.end());
      losses.push_back(e.history[i].loss);
    }
  }
  c.compare("history", history);
  c.compare("history_fitness", losses);
  c.compare("best", e.best.genes);
}

}  // namespace pesuite::golden
