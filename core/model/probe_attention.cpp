// Where attention looks: statistics of each head, and the maps of one example.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "model/probes.h"
#include "model/safetensors.h"

namespace pesuite {

RowStatistics row_statistics(std::span<const double> p) {
  RowStatistics s{0, 0, p.empty() ? 0 : p[0]};
  for (std::size_t j = 0; j < p.size(); ++j) {
    s.distance += p[j] * static_cast<double>(p.size() - 1 - j);
    if (p[j] > 0) s.entropy -= p[j] * std::log(p[j]);
  }
  return s;
}

namespace {

// Mean with its standard error over examples.
struct Mean {
  double n = 0, sum = 0, squares = 0;
  void add(double x) { ++n, sum += x, squares += x * x; }
  double value() const { return sum / n; }
  double standard_error() const {
    if (n < 2) return Observation::none;
    return std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1) / n);
  }
};
struct Head {
  Mean distance, entropy, sink;
};

}  // namespace

std::vector<Observation> probe_attention(Model& model, const Task& task, const EvalConfig& c,
                                         int length, std::uint64_t seed, std::int64_t steps,
                                         const std::function<void(double)>& progress) {
  const auto layers = static_cast<std::size_t>(model.config().layers),
             heads = static_cast<std::size_t>(model.config().heads);
  std::vector<std::vector<Head>> all(layers, std::vector<Head>(heads));
  const int pass = std::max(1, 4096 / length);
  for (int done = 0; length > 1 && done < c.examples; done += pass) {
    std::vector<Task::Request> requests;
    for (int i = done; i < std::min(done + pass, c.examples); ++i)
      requests.push_back(request_of(task, c, c.split, i, length, seed));
    Batch b = batch_of(task, requests);
    std::fill(b.targets.begin(), b.targets.end(), -1);  // nobody asks for answers
    Inspection look;
    look.attention = [&](int layer, Tape& t, const Attention& a) {
      // of each example and head, over the queries that have a choice
      std::vector<RowStatistics> sums(requests.size() * heads, RowStatistics{0, 0, 0});
      std::vector<double> p;
      each_probability(t, a, [&](std::int64_t first, Tensor block) {
        const Shape s = t.shape(block);
        p.resize(static_cast<std::size_t>(s.count()));
        t.backend().download(p.data(), t.view(block));
        for (std::int64_t unit = 0; unit < s[0] * s[1]; ++unit)
          for (std::int64_t row = first == 0 ? 1 : 0; row < s[2]; ++row) {
            const RowStatistics r = row_statistics(
                {p.data() + (unit * s[2] + row) * s[3], static_cast<std::size_t>(first + row + 1)});
            RowStatistics& sum = sums[static_cast<std::size_t>(unit)];
            sum.distance += r.distance, sum.entropy += r.entropy, sum.sink += r.sink;
          }
      });
      for (std::size_t i = 0; i < sums.size(); ++i) {
        Head& h = all[static_cast<std::size_t>(layer)][i % heads];
        const double rows = length - 1;
        h.distance.add(sums[i].distance / rows);
        h.entropy.add(sums[i].entropy / rows);
        h.sink.add(sums[i].sink / rows);
      }
    };
    model.score(b, evaluation_step(b.size, length, seed, steps), look);
    if (progress) progress(std::min(1.0, static_cast<double>(done + pass) / c.examples));
  }
  std::vector<Observation> out;
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t head = 0; head < heads; ++head) {
      const auto add = [&](const char* metric, const char* unit, const Mean& mean) {
        if (mean.n == 0) return;
        Observation o;
        o.metric = metric, o.unit = unit, o.direction = "none";
        o.split = c.trained_on(length) ? "id" : "ood";
        o.coords = {{"train_len", c.train_length},
                    {"eval_len", length},
                    {"probe", "attention"},
                    {"layer", layer},
                    {"head", head}};
        o.n = static_cast<std::int64_t>(mean.n);
        o.value = mean.value(), o.standard_error = mean.standard_error();
        o.settle();
        out.push_back(std::move(o));
      };
      const Head& h = all[layer][head];
      add("attention_distance", "tokens", h.distance);
      add("attention_entropy", "nats", h.entropy);
      add("attention_sink", "share", h.sink);
    }
  return out;
}

void write_maps(const fs::path& path, Model& model, const Task& task, const EvalConfig& c,
                const ProbeConfig& p, int length, std::uint64_t seed, std::int64_t steps,
                std::map<std::string, std::string> metadata) {
  check(p, model.config(), length);
  std::vector<int> layers = p.layers, heads = p.heads;
  for (int i = 0; p.layers.empty() && i < model.config().layers; ++i) layers.push_back(i);
  for (int i = 0; p.heads.empty() && i < model.config().heads; ++i) heads.push_back(i);
  Batch b = batch_of(task, {{request_of(task, c, c.split, p.example, length, seed)}});
  metadata["schema"] = "pesuite.attention/1";
  metadata["length"] = std::to_string(length), metadata["example"] = std::to_string(p.example);
  metadata["tokens"] = Json(b.tokens).dump(), metadata["targets"] = Json(b.targets).dump();
  metadata["layers"] = Json(layers).dump(), metadata["heads"] = Json(heads).dump();
  std::fill(b.targets.begin(), b.targets.end(), -1);
  std::vector<TensorToWrite> tensors;
  for (const int layer : layers)
    for (const int head : heads)
      tensors.push_back({fmt::format("layers.{}.heads.{}", layer, head), {length, length}});
  const auto map = [&](std::size_t i) {
    const int layer = layers[i / heads.size()], head = heads[i % heads.size()];
    const auto n = static_cast<std::size_t>(length);
    std::vector<double> out(n * n);
    Inspection look;
    look.attention = [&](int at, Tape& t, const Attention& a) {
      if (at != layer) return;
      each_probability(t, a, [&](std::int64_t first, Tensor block) {
        const Tensor own = ops::slice(t, block, 1, head, 1);  // [1, 1, rows, keys]
        const Shape s = t.shape(own);
        std::vector<double> rows(static_cast<std::size_t>(s.count()));
        t.backend().download(rows.data(), t.view(own));
        for (std::int64_t row = 0; row < s[2]; ++row)
          std::copy_n(rows.begin() + row * s[3], s[3], out.begin() + (first + row) * length);
      });
    };
    model.score(b, evaluation_step(1, length, seed, steps), look);
    return out;
  };
  write_safetensors(path, tensors, metadata, model.backend().element_size() == sizeof(double), map);
}

}  // namespace pesuite
