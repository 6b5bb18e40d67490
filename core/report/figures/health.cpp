// The health of training: what the gradient and the loss did over the steps, and what each part of
// the model had of it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

struct Signal {
  const char *metric, *name, *title, *axis, *caption;
  bool of_parts;
  double least_top = 0;  // of the axis, so that it does not zoom on noise; 0: as the values are
};
constexpr Signal signals[] = {
    {"grad_norm", "gradient", "norm of the gradient while training", "gradient norm",
     "L2 norm of the whole gradient before clipping, the mean since the last logged step", false},
    {"loss_spike", "spikes", "spikes of the loss while training", "robust deviations",
     "How far the loss stood out: the highest since the last logged step of "
     "(loss - median) / (1.4826 MAD) over the 64 losses before it; the log names those above 6",
     false, 10},
    {"entropy", "entropy", "entropy of the output while training", "nats",
     "Mean entropy of the output's distribution on the first 64 scored tokens of validation", false,
     1},
    {"part_grad_norm", "part_gradients", "gradient by part of the model", "gradient norm",
     "L2 norm of the gradient of each part, before clipping", true},
    {"update_ratio", "updates", "update by part of the model", "update / weight",
     "Size of an update over that of the weights, ||w' - w|| / ||w||, of each part", true}};

// Of "layer 3"; -1 for other parts, and for what a foreign record calls so.
int layer_number(const std::string& part) {
  int number = -1;
  if (part.starts_with("layer "))
    std::from_chars(part.data() + 6, part.data() + part.size(), number);
  return number;
}

// Parts as a signal passes them.
std::vector<std::string> parts_of(const TaskData& t, const std::string& metric) {
  const auto place = [](const std::string& part) {
    if (const int layer = layer_number(part); layer >= 0 || part == "embedding") return layer;
    return part == "norm" ? 1 << 20 : part == "head" ? (1 << 20) + 1 : (1 << 20) + 2;
  };
  std::set<std::pair<int, std::string>> found;
  for (const auto& [key, c] : t.cells)
    for (const auto& [name, curve] : c.health)
      if (name.starts_with(metric + " ")) {
        const std::string part = name.substr(metric.size() + 1);
        found.insert({place(part), part});
      }
  std::vector<std::string> out;
  for (const auto& [at, part] : found) out.push_back(part);
  return out;
}

class Health {
 public:
  Health(const RunData& run, const TaskData& t, const Signal& s) : run_(run), t_(t), signal_(s) {}

  std::vector<Figure> draw() {
    signal_.of_parts ? add_parts() : add_steps();
    if (lines_.empty() || lines_.range.empty()) return {};
    if (signal_.least_top > 0) lines_.range.include(0), lines_.range.include(signal_.least_top);
    const bool logarithmic =
        signal_.of_parts || (lines_.range.smallest > 0 && !lines_.range.not_positive);
    Figure f;
    f.name = file_name(run_, t_, std::string("health_") + signal_.name);
    f.kind = "curves";
    f.title = figure_title(run_, t_, signal_.title);
    f.caption = fmt::format("{}{}. {}{}", signal_.caption,
                            signal_.of_parts ? "; the mean over the second half of training" : "",
                            band_sentence(t_), edge_sentence(lines_.range, logarithmic));
    f.series = series_of(run_, t_, &lines_);
    f.x = signal_.of_parts ? Figure::Axis{"part of the model", 0,
                                          static_cast<double>(parts_.size()), false, part_ticks()}
                           : Figure::Axis{"training step", 0, last_, false, {}};
    f.y.label = signal_.axis;
    f.values["left"] = 110.0;  // ticks such as 5×10⁻⁴
    f.values["chance"] = f.values["optimum"] = Number::none;
    set_y_axis(f, lines_.range, logarithmic && lines_.range.smallest < lines_.range.high);
    name_line_ends(f, lines_);
    f.rows = std::move(lines_.rows);
    return {f};
  }

 private:
  void add_steps() {
    for (const std::size_t e : t_.encodings) {
      std::set<std::int64_t> steps;
      for (const std::uint64_t seed : t_.seeds)
        if (const auto* curve = curve_of(e, seed, signal_.metric))
          for (const auto& [step, value] : *curve) steps.insert(step);
      const std::vector<double> xs(steps.begin(), steps.end());
      if (!xs.empty()) last_ = std::max(last_, xs.back());
      add(e, xs, [&](std::size_t i, const CellData& c) {
        const auto curve = c.health.find(signal_.metric);
        if (curve == c.health.end()) return Number::none;
        const auto at = curve->second.find(static_cast<std::int64_t>(xs[i]));
        return at == curve->second.end() ? Number::none : at->second;
      });
    }
  }
  void add_parts() {
    parts_ = parts_of(t_, signal_.metric);
    std::vector<double> xs;
    for (std::size_t i = 0; i < parts_.size(); ++i) xs.push_back(static_cast<double>(i) + 0.5);
    for (const std::size_t e : t_.encodings)
      add(e, xs, [&](std::size_t i, const CellData& c) {
        const auto curve = c.health.find(fmt::format("{} {}", signal_.metric, parts_[i]));
        if (curve == c.health.end()) return Number::none;
        double sum = 0;
        int n = 0;
        for (const auto& [step, value] : curve->second)
          if (2 * step > c.steps) sum += value, ++n;
        return n > 0 ? sum / n : Number::none;
      });
  }
  template <class At>
  void add(std::size_t e, const std::vector<double>& xs, At at) {
    if (xs.empty()) return;
    lines_.add_encoding(
        run_.encodings[e], xs,
        [&](std::size_t i) {
          return values_of(t_, e, [&](const CellData& c) { return at(i, c); });
        },
        [](double x) { return x; });
  }
  const std::map<std::int64_t, double>* curve_of(std::size_t e, std::uint64_t seed,
                                                 const std::string& name) const {
    const CellData* c = t_.cell(e, seed);
    if (c == nullptr) return nullptr;
    const auto found = c->health.find(name);
    return found == c->health.end() ? nullptr : &found->second;
  }
  Ticks part_ticks() const {  // all of few, every n-th of many layers
    const int every = std::max(1, static_cast<int>(parts_.size()) / 10);
    Ticks out;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (const int layer = layer_number(parts_[i]); layer < 0 || layer % every == 0)
        out.emplace_back(static_cast<double>(i) + 0.5, parts_[i]);
    return out;
  }

  const RunData& run_;
  const TaskData& t_;
  const Signal& signal_;
  Lines lines_;
  std::vector<std::string> parts_;
  double last_ = 1;
};

}  // namespace

std::vector<FigureKind> health_figures() {
  return {{FigureSection::learning, 10, [](const FigureContext& c) {
             std::vector<Figure> out;
             // the gradient's norm is always recorded, and shown where the rest was asked for
             const bool asked =
                 std::any_of(c.task->cells.begin(), c.task->cells.end(),
                             [](const auto& cell) { return cell.second.health.size() > 1; });
             if (!asked) return out;
             for (const Signal& s : signals)
               for (Figure& f : Health(c.run, *c.task, s).draw()) out.push_back(std::move(f));
             return out;
           }}};
}

}  // namespace pesuite
