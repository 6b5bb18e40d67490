// What each encoding adds to a forward pass.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "bench/common.h"
#include "tensor/attention.h"

namespace pesuite::bench {

namespace {

// The encoding's part of a forward pass, and attention after it, without the rest of the model.
class Hooks {
 public:
  Hooks(const Catalog& catalog, Backend& backend, const std::string& text, const ModelConfig& m,
        int train_length, int length)
      : backend_(backend),
        model_(m),
        length_(length),
        encoding_(compose(catalog, text, shape_of(m, train_length, length))),
        tape_(backend) {
    const std::int64_t T = length, D = m.head_dim();
    inputs_ = {make("x", {1, T, m.width}), make("q", {1, m.heads, T, D}),
               make("k", {1, m.groups(), T, D}), make("v", {1, m.groups(), T, D})};
    for (std::size_t i = 0; i < encoding_.parameters().size(); ++i) {
      own_.push_back(make(encoding_.parameters()[i].name, encoding_.parameters()[i].shape));
      std::vector<float> values(static_cast<std::size_t>(own_[i].shape.count()));
      encoding_.init(i, 1, values);
      backend.upload({own_[i].value, own_[i].shape}, values.data());
    }
  }
  ~Hooks() {
    for (auto* list : {&inputs_, &own_})
      for (Parameter& p : *list) free_parameter(backend_, p);
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  void run(bool with_attention) {
    tape_.reset();
    tape_.set_recording(false);
    std::vector<Tensor> own;
    for (Parameter& p : own_) own.push_back(tape_.leaf(p));
    StepInfo s;
    s.batch = 1, s.length = length_;
    encoding_.begin(tape_, s, own);
    const Tensor x = tape_.leaf(inputs_[0]);
    encoding_.embed(tape_, x);
    const Tape::Mark mark = tape_.mark();
    for (int layer = 0; layer < model_.layers; ++layer) {
      Attention a;
      a.q = tape_.leaf(inputs_[1]), a.k = tape_.leaf(inputs_[2]), a.v = tape_.leaf(inputs_[3]);
      a.scale = 1 / std::sqrt(static_cast<double>(model_.head_dim()));
      encoding_.attend(tape_, layer, x, a);
      if (with_attention) attend(tape_, a, &path_);
      if (tape_.failed()) fail(Exit::internal, "{}", tape_.failure());
      tape_.release_since(mark);
    }
  }
  AttentionPath path() const { return path_; }
  double memory() const { return static_cast<double>(tape_.memory()); }

 private:
  Parameter make(const std::string& name, const Shape& shape) {
    return normal_parameter(backend_, name, shape, 1, false);
  }

  Backend& backend_;
  ModelConfig model_;
  int length_;
  Composition encoding_;
  Tape tape_;
  std::vector<Parameter> inputs_, own_;
  AttentionPath path_ = AttentionPath::fused;
};

}  // namespace

Result bench_overhead(const Catalog& catalog, const Settings& s) {
  const Workload w = workload(s.config);
  const auto backend = open(s);
  Result result;
  std::vector<std::vector<std::string>> rows = {{"encoding", "length", "encode ms", "attention ms",
                                                 "pass ms", "against none", "parameters", "memory",
                                                 "path"}};
  for (const int length : s.lengths) {
    const Batch batch = random_batch(1, length, w.model.vocabulary);
    std::vector<std::unique_ptr<Trainee>> models;
    std::vector<std::unique_ptr<Hooks>> hooks;
    std::vector<Subject> subjects;
    std::vector<std::string> encodings = s.encodings;
    std::erase(encodings, "none");
    encodings.insert(encodings.begin(), "none");
    for (const std::string& e : encodings) {
      if (s.plan.progress)
        s.plan.progress(fmt::format("preparing {} of {} for {} tokens: {}", models.size() + 1,
                                    encodings.size(), length, e));
      models.push_back(std::make_unique<Trainee>(catalog, *backend, e, w.model, w.length, length));
      hooks.push_back(std::make_unique<Hooks>(catalog, *backend, e, w.model, w.length, length));
      Trainee& t = *models.back();
      Hooks& h = *hooks.back();
      const auto name = [&](const char* what) {
        return fmt::format("overhead/{}/{}/{}/{}", s.config, e, length, what);
      };
      subjects.push_back({name("encode"), [&h] { h.run(false); }, 0, 0, {}});
      subjects.push_back({name("encode+attention"), [&h] { h.run(true); }, 0, 0, {}});
      subjects.push_back({name("pass"), [&t, &batch] { t.score(batch); },
                          length * forward_flops(w.model, length), static_cast<double>(length),
                          [&t] { return t.facts(); }});
    }
    Result part = finish(std::move(subjects), *backend, s.plan);
    result.peak = part.peak, result.memory = part.memory;
    const auto ms = [&](std::size_t i) { return 1e3 * part.timings[i].time().median; };
    // what slows one window slows its neighbours, so passes are compared window by window
    const auto against_none = [&](std::size_t i) {
      std::vector<double> more;
      for (std::size_t k = 0; k < part.timings[i].seconds.size(); ++k)
        more.push_back(part.timings[i].seconds[k] / part.timings[3].seconds[k] - 1);
      const auto [low, high] = median_interval(more);
      return Slowdown{encodings[(i - 3) / 3], length, quartiles(more).median, low, high};
    };
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      const std::size_t at = 1 + 3 * i;
      if (i > 0) result.slowdowns.push_back(against_none(at + 2));
      rows.push_back({encodings[i], std::to_string(length), fmt::format("{:.3f}", ms(at)),
                      fmt::format("{:.3f}", ms(at + 1) - ms(at)), fmt::format("{:.3f}", ms(at + 2)),
                      i == 0 ? "" : fmt::format("{:+.1f} %", 100 * result.slowdowns.back().median),
                      format_count(static_cast<double>(models[i]->model().encoding_count())),
                      format_bytes(hooks[i]->memory()), std::string(path_name(hooks[i]->path()))});
    }
    std::move(part.timings.begin(), part.timings.end(), std::back_inserter(result.timings));
  }
  result.table = plain_table(rows);
  return result;
}

}  // namespace pesuite::bench
