#include "model/health.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tensor/ops.h"

namespace pesuite {

namespace {

std::string part_name(const std::string& parameter) {
  constexpr std::string_view layers = "layers.";
  if (parameter.starts_with(layers)) {
    const std::size_t end = parameter.find('.', layers.size());
    return "layer " + parameter.substr(layers.size(), end - layers.size());
  }
  return parameter.substr(0, parameter.find('.'));
}

double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

double median_of(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

PartsWatch::PartsWatch(Model& model) : model_(model) {
  for (const Parameter& p : model_.parameters()) {
    const std::string name = part_name(p.name);
    const auto at = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& part) { return part.name == name; });
    part_of_.push_back(static_cast<std::size_t>(at - parts_.begin()));
    if (at == parts_.end()) parts_.push_back({name});
  }
}

std::vector<double> PartsWatch::values(void* data, const Parameter& p) const {
  std::vector<double> out(static_cast<std::size_t>(p.shape.count()));
  model_.backend().download(out.data(), View{data, p.shape});
  return out;
}

void PartsWatch::before_update(double loss_scale) {
  for (Part& part : parts_) part.gradient = 0;
  before_.clear();
  for (std::size_t i = 0; i < part_of_.size(); ++i) {
    const Parameter& p = model_.parameters()[i];
    const double norm = p.has_grad ? norm_of(values(p.grad, p)) / loss_scale : 0;
    parts_[part_of_[i]].gradient += norm * norm;
    before_.push_back(values(p.value, p));
  }
  for (Part& part : parts_) part.gradient = std::sqrt(part.gradient);
}

std::vector<PartsWatch::Part> PartsWatch::after_update() {
  std::vector<double> moved(parts_.size()), held(parts_.size());
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const std::vector<double> now = values(model_.parameters()[i].value, model_.parameters()[i]);
    for (std::size_t k = 0; k < now.size(); ++k) {
      const double step = now[k] - before_[i][k];
      moved[part_of_[i]] += step * step;
      held[part_of_[i]] += before_[i][k] * before_[i][k];
    }
  }
  before_.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i)
    parts_[i].update = held[i] > 0 ? std::sqrt(moved[i] / held[i]) : 0;
  return parts_;
}

double spike_score(const std::vector<double>& before, double loss) {
  if (before.size() < spike_window / 4) return 0;
  const double middle = median_of(before);
  std::vector<double> away;
  for (const double x : before) away.push_back(std::abs(x - middle));
  const double spread = 1.4826 * median_of(away);
  constexpr double most = 1e6;
  const double score = spread > 0 ? (loss - middle) / spread : loss > middle ? most : 0;
  return std::clamp(score, -most, most);
}

double product_rate(Backend& backend) {
  constexpr std::int64_t n = 1024;
  double best = 0;
  Tape tape(backend);
  const std::vector<double> ones(static_cast<std::size_t>(n * n), 0.5);
  for (int i = 0; i < 4; ++i) {
    tape.reset();
    tape.set_recording(false);
    const Tensor a = tape.constant({n, n}, ones.data()), b = tape.constant({n, n}, ones.data());
    const auto start = std::chrono::steady_clock::now();
    const Tensor c = ops::linear(tape, a, b);
    double one = 0;
    const double first[] = {0};
    if (tape.failed()) return 0;
    const Tensor row = ops::rows(tape, c, tape.constant({1}, first));  // waits for it on a device
    std::vector<double> out(static_cast<std::size_t>(n));
    backend.download(out.data(), tape.view(row));
    one = out[0];
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (std::isfinite(one)) best = std::max(best, 2.0 * n * n * n / took.count());
  }
  return best;
}

double entropy_of(const std::vector<double>& logits, std::size_t classes) {
  double sum = 0;
  std::size_t rows = 0;
  for (std::size_t at = 0; at + classes <= logits.size(); at += classes, ++rows) {
    double most = logits[at];
    for (std::size_t c = 1; c < classes; ++c) most = std::max(most, logits[at + c]);
    double total = 0, weighted = 0;  // of exp(l - most)
    for (std::size_t c = 0; c < classes; ++c) {
      const double l = logits[at + c] - most, e = std::exp(l);
      total += e, weighted += e * l;
    }
    sum += std::log(total) - weighted / total;
  }
  return rows > 0 ? sum / static_cast<double>(rows) : 0;
}

}  // namespace pesuite
