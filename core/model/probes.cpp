#include "model/probes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace pesuite {

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names = {"attention", "zeroed",    "offset",
                                                 "shuffled",  "position",  "bands",
                                                 "maps",      "generated", "predictions"};
  return names;
}

ProbeKind parse_probe(const std::string& name) {
  const auto& names = probe_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end())
    fail(Exit::usage, "there is no probe '{}'; known are {}{}", name, join(names, ", "),
         did_you_mean(name, names));
  return static_cast<ProbeKind>(it - names.begin());
}

void check(const ProbeConfig& p, const ModelConfig& m, int length) {
  const auto among = [](const std::vector<int>& chosen, int all, const char* what) {
    for (const int x : chosen)
      if (x < 0 || x >= all)
        fail(Exit::usage, "there is no {} {}: the model has {} of them, 0 to {}", what, x, all,
             all - 1);
    return chosen.empty() ? all : static_cast<int>(chosen.size());
  };
  const double maps = among(p.layers, m.layers, "layer") * among(p.heads, m.heads, "head");
  constexpr double most = 1 << 30;
  if (const double bytes = 4 * maps * length * length; p.kind == ProbeKind::maps && bytes > most)
    fail(Exit::usage,
         "the attention of {:.0f} heads at length {} takes {}, above {}: choose fewer layers and "
         "heads, or a shorter length",
         maps, length, format_bytes(bytes), format_bytes(most));
}

double passes_of(const ProbeConfig& p) {
  switch (p.kind) {
    case ProbeKind::attention: return 2;  // the scores are made twice
    case ProbeKind::zeroed:
    case ProbeKind::position: return 2;
    case ProbeKind::offset: return 4.0 * static_cast<double>(p.offsets.size());
    case ProbeKind::shuffled: return 2.0 * static_cast<double>(p.kept.size());
    case ProbeKind::bands: return 2.0 * p.bands;
    case ProbeKind::maps:
    case ProbeKind::generated:
    case ProbeKind::predictions: return 1;
  }
  return 1;
}

namespace {

const std::string& name_of(ProbeKind kind) {
  return probe_names()[static_cast<std::size_t>(kind)];
}

// A model whose nats are what it pays beyond (`absolute`: how far it lies from) a plain pass.
Scorer beyond_plain(Model& model, const Inspection& look, int offset, bool absolute) {
  return [&model, look, offset, absolute](const Batch& b, const StepInfo& s) {
    const Scores plain = model.score(b, s);
    StepInfo moved = s;
    moved.offset = offset;
    Scores out = model.score(b, moved, look);
    for (std::size_t i = 0; i < out.nats.size(); ++i) {
      out.nats[i] -= plain.nats[i];
      if (absolute) out.nats[i] = std::fabs(out.nats[i]);
    }
    return out;
  };
}

// Evaluations of a model that is changed in some way, as observations of a probe.
class Changes {
 public:
  Changes(Model& model, const Task& task, const EvalConfig& c, ProbeKind kind, int length,
          std::uint64_t seed, std::int64_t steps, const std::function<void(double)>& progress)
      : model_(model),
        task_(task),
        config_(c),
        kind_(kind),
        length_(length),
        seed_(seed),
        steps_(steps),
        progress_(progress) {}

  // What the change costs, as METRIC, and, of problems, the accuracy that is left, as `accuracy`
  // where that is not empty. Part i of n.
  void add(const std::string& metric, const std::string& accuracy, const Json& where,
           const Inspection& look, int offset, bool absolute, double i, double n) {
    add(metric, accuracy, where, beyond_plain(model_, look, offset, absolute), i, n);
  }
  void add(const std::string& metric, const std::string& accuracy, const Json& where,
           const Scorer& changed, double i, double n) {
    const auto part = [&](double share) {
      if (progress_) progress_((i + share) / n);
    };
    for (Observation& o : evaluate(changed, task_, config_, length_, seed_, steps_, part)) {
      if (!o.whole()) continue;
      if (o.metric == "nll")
        o.metric = metric, o.direction = "none";
      else if (o.metric == "acc" && !accuracy.empty())
        o.metric = accuracy;
      else
        continue;
      o.coords["probe"] = name_of(kind_);
      o.coords.update(where);
      found.push_back(std::move(o));
    }
  }
  // Nothing of a part in which nothing could change its place: all tokens are scored.
  void add_shuffled(const std::vector<int>& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::size_t before = found.size();
      std::int64_t moved = 0;
      add("shuffled_cost", "shuffled_acc", {{"kept", kept[i]}},
          shuffled(model_, task_, kept[i], moved), static_cast<double>(i),
          static_cast<double>(kept.size()));
      if (moved == 0) found.resize(before);
    }
  }
  // What is right of the answers that the model writes itself.
  void add_generated() {
    for (Observation& o :
         evaluate(generated(model_, task_), task_, config_, length_, seed_, steps_, progress_))
      if (o.whole() && (o.metric == "acc" || o.metric == "em")) {
        o.metric = "generated_" + o.metric;
        o.coords["probe"] = name_of(kind_);
        found.push_back(std::move(o));
      }
  }
  std::vector<Observation> found;

 private:
  Model& model_;
  const Task& task_;
  const EvalConfig& config_;
  ProbeKind kind_;
  int length_;
  std::uint64_t seed_;
  std::int64_t steps_;
  const std::function<void(double)>& progress_;
};

void add_bands(Model& model, const ProbeConfig& p, const StepInfo& step, Changes& changes) {
  const std::optional<Rotation> all = rotation_of(model, step);
  if (!all) return;
  const std::size_t pairs = all->pairs(), n = std::min(pairs, static_cast<std::size_t>(p.bands));
  const auto head = [&]() -> const std::vector<TurnedPair>& {  // the first that turns so many
    for (const auto& layer : all->queries)
      for (const auto& h : layer)
        if (h.size() == pairs) return h;
    PES_CHECK(false);
    return all->queries[0][0];
  }();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = i * pairs / n, below = (i + 1) * pairs / n;
    const auto wavelength = [&](std::size_t pair) {
      return 2 * std::numbers::pi / head[pair].frequency;
    };
    const Json where = {{"band", i},
                        {"bands", n},
                        {"wavelength_lo", wavelength(from)},
                        {"wavelength_hi", wavelength(below - 1)}};
    changes.add("band_cost", "band_acc", where, holding(*all, from, below), 0, false,
                static_cast<double>(i), static_cast<double>(n));
  }
}

}  // namespace

std::vector<Observation> probe(Model& model, const Task& task, const EvalConfig& c,
                               const ProbeConfig& p, int length, std::uint64_t seed,
                               std::int64_t steps, const std::function<void(double)>& progress) {
  Changes changes(model, task, c, p.kind, length, seed, steps, progress);
  switch (p.kind) {
    case ProbeKind::attention:
      return probe_attention(model, task, c, length, seed, steps, progress);
    case ProbeKind::predictions:
      return probe_predictions(model, task, c, length, seed, steps, progress);
    case ProbeKind::position: return probe_position(model, task, c, length, seed, steps, progress);
    case ProbeKind::zeroed:
      changes.add("zeroed_cost", "zeroed_acc", Json::object(), {.without_encoding = true}, 0, false,
                  0, 1);
      break;
    case ProbeKind::offset:
      for (std::size_t i = 0; i < p.offsets.size(); ++i) {
        const Json where = {{"offset", p.offsets[i]}};
        const auto at = static_cast<double>(2 * i), n = static_cast<double>(2 * p.offsets.size());
        changes.add("offset_cost", "offset_acc", where, {}, p.offsets[i], false, at, n);
        changes.add("offset_change", "", where, {}, p.offsets[i], true, at + 1, n);
      }
      break;
    case ProbeKind::shuffled: changes.add_shuffled(p.kept); break;
    case ProbeKind::bands:
      add_bands(model, p, evaluation_step(1, length, seed, steps), changes);
      break;
    case ProbeKind::generated: changes.add_generated(); break;
    case ProbeKind::maps: break;
  }
  return changes.found;
}

}  // namespace pesuite
