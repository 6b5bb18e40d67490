// How well the position can be read from a model's states by a linear map.
#include <algorithm>
#include <cmath>

#include "model/probes.h"

namespace pesuite {

LinearFit::LinearFit(std::size_t width)
    : width_(width), x_(width), xy_(width), xx_(width * (width + 1) / 2) {}

void LinearFit::add(std::span<const double> x, double y) {
  ++n_;
  y_ += y;
  double* xx = xx_.data();
  for (std::size_t i = 0; i < width_; ++i) {
    x_[i] += x[i];
    xy_[i] += x[i] * y;
    for (std::size_t j = 0; j <= i; ++j) *xx++ += x[i] * x[j];
  }
}

std::vector<double> LinearFit::solve(double ridge) const {
  std::vector<double> out(width_ + 1);
  if (n_ == 0) return out;
  const double mean_y = y_ / n_;
  // covariances, then their Cholesky factor in place
  std::vector<std::vector<double>> l(width_, std::vector<double>(width_));
  std::vector<double> b(width_);
  double trace = 0, squares = 0;
  const double* xx = xx_.data();
  for (std::size_t i = 0; i < width_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) l[i][j] = *xx++ / n_ - x_[i] / n_ * (x_[j] / n_);
    b[i] = xy_[i] / n_ - x_[i] / n_ * mean_y;
    trace += l[i][i];
    squares += l[i][i] + x_[i] / n_ * (x_[i] / n_);
  }
  out[0] = mean_y;
  if (trace <= 1e-12 * squares) return out;  // what varies is rounding
  const double added = std::max(ridge, 1e-15) * trace / static_cast<double>(width_);
  for (std::size_t i = 0; i < width_; ++i) {
    l[i][i] += added;
    for (std::size_t j = 0; j <= i; ++j) {
      double s = l[i][j];
      for (std::size_t k = 0; k < j; ++k) s -= l[i][k] * l[j][k];
      // rounding may leave nothing of a variance that others explain
      l[i][j] = i == j ? std::sqrt(std::max(s, added)) : s / l[j][j];
    }
  }
  for (std::size_t i = 0; i < width_; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[i][k] * b[k];
    b[i] /= l[i][i];
  }
  for (std::size_t i = width_; i-- > 0;) {
    for (std::size_t k = i + 1; k < width_; ++k) b[i] -= l[k][i] * b[k];
    b[i] /= l[i][i];
  }
  for (std::size_t i = 0; i < width_; ++i) {
    out[i + 1] = b[i];
    out[0] -= b[i] * x_[i] / n_;
  }
  return out;
}

namespace {

constexpr double ridge = 1e-6;
constexpr std::int64_t most_tokens = 16384;  // that are fitted, and that are tested

// Errors of one example's positions.
struct Errors {
  double squares = 0, spread = 0, absolute = 0;  // spread: squares around the mean position
  std::int64_t count = 0;
};

class PositionProbe {
 public:
  PositionProbe(Model& model, const Task& task, const EvalConfig& c, int length, std::uint64_t seed,
                std::int64_t steps)
      : model_(model), task_(task), config_(c), length_(length), seed_(seed), steps_(steps) {}

  std::vector<Observation> run(const std::function<void(double)>& progress) {
    const auto layers = static_cast<std::size_t>(model_.config().layers) + 1;
    std::vector<LinearFit> fits(layers, LinearFit(static_cast<std::size_t>(model_.config().width)));
    each_state(PES_SPLIT_VALIDATION, [&](std::size_t layer, int, std::span<const double> x, int n) {
      fits[layer].add(x, n);
    });
    if (progress) progress(0.5);
    std::vector<std::vector<double>> weights;
    for (const LinearFit& f : fits) weights.push_back(f.solve(ridge));
    std::vector<std::vector<Errors>> errors(layers);
    each_state(config_.split,
               [&](std::size_t layer, int example, std::span<const double> x, int n) {
                 double guess = weights[layer][0];
                 for (std::size_t i = 0; i < x.size(); ++i) guess += weights[layer][i + 1] * x[i];
                 auto& of = errors[layer];
                 of.resize(std::max(of.size(), static_cast<std::size_t>(example) + 1));
                 Errors& e = of[static_cast<std::size_t>(example)];
                 const double middle = (length_ - 1) / 2.0;
                 e.squares += (guess - n) * (guess - n), e.spread += (n - middle) * (n - middle);
                 e.absolute += std::fabs(guess - n), ++e.count;
               });
    if (progress) progress(1);
    std::vector<Observation> out;
    for (std::size_t layer = 0; layer < layers; ++layer) describe(layer, errors[layer], out);
    return out;
  }

 private:
  // body(layer, example, x, position) for the states of a split's examples, padding left out.
  template <class F>
  void each_state(pes_split split, F body) {
    const auto W = static_cast<std::size_t>(model_.config().width);
    const auto n = static_cast<std::size_t>(length_);
    std::int64_t examples = config_.examples;
    if (const std::int64_t documents = task_.info().documents[split]; documents > 0)
      examples = std::min(examples, documents);
    const std::int64_t stride = 1 + (examples * length_ - 1) / most_tokens;
    const std::int64_t pass = std::max<std::int64_t>(1, 4096 / length_);
    std::vector<double> states;
    for (std::int64_t done = 0; done < examples; done += pass) {
      std::vector<Task::Request> requests;
      for (std::int64_t i = done; i < std::min(done + pass, examples); ++i)
        requests.push_back(request_of(task_, config_, split, i, length_, seed_));
      Batch b = batch_of(task_, requests);
      std::fill(b.targets.begin(), b.targets.end(), -1);  // nobody asks for answers
      Inspection look;
      look.residual = [&](int layer, Tape& t, Tensor x) {
        states.resize(b.tokens.size() * W);
        t.backend().download(states.data(), t.view(x));
        for (std::size_t i = 0; i < b.tokens.size(); ++i) {
          const auto example = done + static_cast<std::int64_t>(i / n);
          const auto position = static_cast<std::int64_t>(i % n);
          if (b.tokens[i] == PES_PAD || (example * length_ + position) % stride != 0) continue;
          body(static_cast<std::size_t>(layer), static_cast<int>(example),
               std::span<const double>(states).subspan(i * W, W), static_cast<int>(position));
        }
      };
      model_.score(b, evaluation_step(b.size, length_, seed_, steps_), look);
    }
  }

  void describe(std::size_t layer, const std::vector<Errors>& examples,
                std::vector<Observation>& out) const {
    Errors all;
    std::int64_t units = 0;
    for (const Errors& e : examples) {
      all.squares += e.squares, all.spread += e.spread, all.absolute += e.absolute;
      all.count += e.count, units += e.count > 0 ? 1 : 0;
    }
    if (all.spread == 0) return;
    Observation o;
    o.split = config_.trained_on(length_) ? "id" : "ood";
    o.coords = {{"train_len", config_.train_length},
                {"eval_len", length_},
                {"probe", "position"},
                {"layer", layer}};
    o.n = units, o.count = all.count;
    o.metric = "position_r2", o.unit = "share", o.direction = "none";
    o.value = 1 - all.squares / all.spread;
    out.push_back(o);
    o.metric = "position_error", o.unit = "tokens";
    o.value = all.absolute / static_cast<double>(all.count);
    double squares = 0;
    for (const Errors& e : examples) {
      const double r = e.absolute - o.value * static_cast<double>(e.count);
      squares += r * r;
    }
    if (units > 1)
      o.standard_error =
          std::sqrt(squares * static_cast<double>(units) / static_cast<double>(units - 1)) /
          static_cast<double>(all.count);
    o.sum = all.absolute;
    out.push_back(std::move(o));
  }

  Model& model_;
  const Task& task_;
  const EvalConfig& config_;
  int length_;
  std::uint64_t seed_;
  std::int64_t steps_;
};

}  // namespace

std::vector<Observation> probe_position(Model& model, const Task& task, const EvalConfig& c,
                                        int length, std::uint64_t seed, std::int64_t steps,
                                        const std::function<void(double)>& progress) {
  return PositionProbe(model, task, c, length, seed, steps).run(progress);
}

}  // namespace pesuite
