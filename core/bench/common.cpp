#include "bench/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/isolate.h"
#include "base/text.h"
#include "encoding/expression.h"
#include "model/preset.h"
#include "model/train.h"
#include "pesuite/random.hpp"

namespace pesuite::bench {

namespace {

struct Size {
  std::string_view name;
  int width, layers, heads, ff_width, length, vocabulary, batch;
};
constexpr Size sizes[] = {{"A", 128, 2, 4, 384, 64, 16, 64},
                          {"B", 256, 4, 4, 704, 256, 256, 16},
                          {"C", 512, 6, 8, 1408, 512, 4096, 8},
                          {"G", 768, 12, 12, 2048, 2048, 32000, 1}};

Workload named_workload(const std::string& name) {
  std::vector<std::string> names;
  for (const Size& s : sizes) {
    ModelConfig m;
    m.width = s.width, m.layers = s.layers, m.heads = s.heads, m.ff_width = s.ff_width;
    m.vocabulary = s.vocabulary;
    if (s.name == name) return {m, s.length, s.batch};
    names.emplace_back(s.name);
  }
  for (const Preset& p : presets()) {
    if (p.name == name) return {p.config, p.train_length, std::max(1, 4096 / p.train_length)};
    names.emplace_back(p.name);
  }
  fail(Exit::usage, "--config: there is no model '{}'{}; known are {}", name,
       did_you_mean(name, names), join(names, ", "));
}

}  // namespace

Workload workload(const std::string& config) {
  const Expression e = parse_expression(config, "config");
  Workload w = named_workload(e.name);
  const auto set = [&](const char* key, int& value) {
    const auto it = e.options.find(key);
    if (it == e.options.end()) return false;
    double number = 0;
    if (!parse_count(it->second, number) || number < 1 || number > 1 << 20)
      fail(Exit::usage, "--config '{}': {} wants a count, not '{}'", config, key, it->second);
    value = static_cast<int>(number);
    return true;
  };
  const int width = w.model.width, size = w.model.head_dim();
  if (set("width", w.model.width)) {  // heads keep their size, and the mlp its ratio
    w.model.heads = std::max(1, w.model.width / size);
    w.model.ff_width = static_cast<int>(std::int64_t{w.model.ff_width} * w.model.width / width);
  }
  const std::pair<const char*, int*> others[] = {
      {"layers", &w.model.layers},         {"heads", &w.model.heads},
      {"ff_width", &w.model.ff_width},     {"length", &w.length},
      {"vocabulary", &w.model.vocabulary}, {"batch", &w.batch}};
  std::vector<std::string> known = {"width"};
  for (const auto& [key, value] : others) {
    set(key, *value);
    known.emplace_back(key);
  }
  for (const auto& [key, value] : e.options)
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(Exit::usage, "--config '{}': there is no size '{}'{}; known are {}", config, key,
           did_you_mean(key, known), join(known, ", "));
  check(w.model);
  return w;
}

Batch random_batch(int size, int length, int vocabulary) {
  Batch b;
  b.size = size, b.length = length;
  pes::Random random(1, pes::purpose("bench"), 0);
  for (int i = 0; i < size * length; ++i) {
    b.tokens.push_back(
        static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary))));
    b.targets.push_back(
        static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(vocabulary))));
  }
  return b;
}

Parameter normal_parameter(Backend& backend, const std::string& name, const Shape& shape,
                           double deviation, bool grad) {
  Parameter p;
  p.name = name, p.shape = shape;
  const auto count = static_cast<std::size_t>(shape.count());
  p.value = backend.allocate(count * backend.element_size());
  if (grad) p.grad = backend.allocate(count * backend.element_size());
  std::vector<float> values(count);
  pes::Random random(2, pes::purpose(name), 0);
  for (float& v : values) v = static_cast<float>(deviation * random.normal());
  backend.upload({p.value, shape}, values.data());
  return p;
}
void free_parameter(Backend& backend, Parameter& p) {
  backend.release(p.value);
  backend.release(p.grad);
}

std::unique_ptr<Backend> open(const Settings& s) {
  return open_backend(s.backend, {.threads = s.threads, .precision = s.precision});
}

Trainee::Trainee(const Catalog& catalog, Backend& backend, const std::string& encoding,
                 const ModelConfig& model, int train_length, int max_length)
    : model_(backend, model, compose(catalog, encoding, shape_of(model, train_length, max_length)),
             1),
      optimizer_(backend, {}) {}

void Trainee::train(const Batch& b) {
  StepInfo s = info(b);
  s.training = true;
  TrainConfig config;  // splits a step into passes as training does
  config.batch = b.size, config.length = b.length;
  config.pass_tokens = usual_pass_tokens(model_.backend().name());
  const int per = config.pass_size();
  for (int done = 0; done < b.size; done += per) {
    Batch part;
    part.size = std::min(per, b.size - done);
    part.length = b.length;
    const auto from = done * b.length, to = (done + part.size) * b.length;
    part.tokens.assign(b.tokens.begin() + from, b.tokens.begin() + to);
    part.targets.assign(b.targets.begin() + from, b.targets.begin() + to);
    model_.learn(part, s, 1 / static_cast<double>(b.tokens.size()));
  }
  optimizer_.update(model_.parameters(), 1, step_++);
}

Facts Trainee::facts() const {
  return {{"parameters", static_cast<double>(model_.count())},
          {"of the encoding", static_cast<double>(model_.encoding_count())},
          {"bytes of a step", static_cast<double>(model_.step_memory())}};
}

StepInfo Trainee::info(const Batch& b) const {
  StepInfo s;
  s.step = step_, s.steps = std::int64_t{1} << 40, s.seed = static_cast<std::uint64_t>(step_);
  s.batch = b.size, s.length = b.length;
  return s;
}

namespace {

// A large product of the backend's own, the yardstick of what the machine can do just now.
class Peak {
 public:
  explicit Peak(Backend& backend) : backend_(backend) {
    for (void*& m : memory_) {
      m = backend.allocate(static_cast<std::size_t>(n * n) * backend.element_size());
      backend.fill({m, square}, 0.5);
    }
  }
  ~Peak() {
    for (void* m : memory_) backend_.release(m);
  }
  Peak(const Peak&) = delete;
  Peak& operator=(const Peak&) = delete;
  Subject subject() {
    return {"product",
            [this] {
              backend_.matmul({memory_[2], square}, {memory_[0], square}, {memory_[1], square},
                              false, true);
            },
            2 * std::pow(static_cast<double>(n), 3),
            0,
            {}};
  }

 private:
  Backend& backend_;
  const std::int64_t n = backend_.name() == "cuda" ? 8192 : 1536;  // a device is slow to fill
  const Shape square{n, n};
  void* memory_[3];
};

// Numbers read and written, as fast as memory goes: the gate, which computes next to nothing and
// reads 16 bytes at a time.
class Stream {
 public:
  explicit Stream(Backend& backend) : backend_(backend) {
    memory_[0] = make(both);
    memory_[1] = make(one);
  }
  ~Stream() {
    for (void* m : memory_) backend_.release(m);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Subject subject() {
    return {"stream",
            [this] {
              backend_.gate_forward({memory_[1], one}, {memory_[0], both});
            },
            static_cast<double>(both.count() + one.count()) *
                static_cast<double>(backend_.element_size()),
            0,
            {}};
  }

 private:
  void* make(const Shape& s) {
    void* const m =
        backend_.allocate(static_cast<std::size_t>(s.count()) * backend_.element_size());
    backend_.fill({m, s}, 0.5);
    return m;
  }
  Backend& backend_;
  const std::int64_t rows = std::int64_t{1} << (backend_.name() == "cuda" ? 17 : 14);
  const Shape both{rows, 2048}, one{rows, 1024};
  void* memory_[2];
};

}  // namespace

Rates measured_rates(Backend& backend, Plan plan) {
  plan.elapsed = [&backend](const std::function<void()>& body) { return backend.elapsed(body); };
  plan.repetitions = 3, plan.window = 0.05;
  Peak peak(backend);
  Stream stream(backend);
  const Subject both[] = {peak.subject(), stream.subject()};
  const std::vector<Timing> times = interleave(both, plan);
  return {"this machine", times[1].rate(), times[0].rate(), 0};
}

// Times the subjects in turn with a large product, which comes first in what is returned.
Result finish(std::vector<Subject> subjects, Backend& backend, Plan plan) {
  plan.elapsed = [&backend](const std::function<void()>& body) { return backend.elapsed(body); };
  Result r;
  for (const Subject& s : subjects) {
    if (plan.progress) plan.progress("first run of " + s.name);
    s.run();
  }
  r.memory = peak_memory();
  Peak peak(backend);
  subjects.insert(subjects.begin(), peak.subject());
  r.timings = interleave(subjects, plan);
  r.peak = r.timings[0].rate();
  r.table = timing_table(r.timings, r.peak);
  return r;
}

}  // namespace pesuite::bench
