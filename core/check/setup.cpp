// Options, creation, a first step, and structs of other hosts' sizes.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "check/checks.h"
#include "plugin/card.h"

namespace pesuite::checks {

namespace {

std::string named(const Subject& s, const std::vector<std::string>& values) {
  return expression_text(*s.encoding.card, values);
}

// Creates it with these values. True when taken, false when refused in a sentence.
bool create_with(const Subject& s, const std::vector<std::string>& values) {
  s.note.say(fmt::format("creating {:.200}", named(s, values)));
  try {
    const Instance instance(s.encoding, values, s.model);
    return true;
  } catch (const Refused&) {
    return false;
  }
}

std::string as_text(const pes_option& o, double x) {
  if (o.type == PES_INT) return fmt::format("{:.0f}", x);
  return format_number(x);
}

// Texts that an option may be given, besides its default.
std::vector<std::string> values_to_try(const pes_option& o) {
  switch (o.type) {
    case PES_BOOL: return {"true", "false"};
    case PES_INT:
    case PES_REAL: return {as_text(o, o.low), as_text(o, o.high)};
    case PES_CHOICE: return split(o.choices, '|');
    case PES_REALS: {
      const std::string low = as_text(o, o.low), high = as_text(o, o.high);
      std::string many = low;
      for (int i = 0; i < 999; ++i) many += "," + low;
      return {"[]", fmt::format("[{}]", low), fmt::format("[{}, {}]", low, high),
              fmt::format("[{}]", many)};
    }
    case PES_TEXT:
      return {"",       " ",   "no such thing",         "/no/such/file", "\xff\xfe\x01",
              "%n%n%s", "[1,", std::string(100000, 'x')};
  }
  return {};
}

// The host refuses what is not of the option's type, whatever the plugin would have made of it.
void expect_refused_by_host(const Subject& s, const pes_option& o, const std::string& value) {
  try {
    resolve_options(*s.encoding.card, {{o.name, value}}, "encoding");
  } catch (const Error&) {
    return;
  }
  fault("option '{}' takes '{}', outside its own type or bounds", o.name, value);
}

}  // namespace

std::string check_options(const Subject& s) {
  std::size_t tried = 0, refused = 0;
  const auto options = options_of(*s.encoding.card);
  for (std::size_t i = 0; i < options.size(); ++i) {
    const pes_option& o = *options[i];
    if (o.type == PES_INT || o.type == PES_REAL) {
      expect_refused_by_host(s, o, "no number");
      if (std::isfinite(o.low))
        expect_refused_by_host(s, o, as_text(o, o.low - 1 - std::fabs(o.low)));
      if (std::isfinite(o.high))
        expect_refused_by_host(s, o, as_text(o, o.high + 1 + std::fabs(o.high)));
    }
    if (o.type == PES_BOOL || o.type == PES_CHOICE) expect_refused_by_host(s, o, "no such choice");
    for (const std::string& value : values_to_try(o)) {
      std::vector<std::string> values = s.values;
      values[i] = value;
      ++tried;
      refused += create_with(s, values) ? 0 : 1;
    }
  }
  if (options.empty()) return "It has no options.";
  return fmt::format("{}: {} at and within bounds, {} of them refused in a sentence.",
                     counted(options.size(), "option"), counted(tried, "value"), refused);
}

std::string check_creates(const Subject& s) {
  s.note.say(fmt::format("creating {}", named(s, s.values)));
  std::size_t numbers = 0;
  auto first = std::make_unique<Instance>(s.encoding, s.values, s.model);
  {
    const Instance second(s.encoding, s.values, s.model);
    require(first->parameters().size() == second.parameters().size(),
            "a second instance has {} parameters, the first {}", second.parameters().size(),
            first->parameters().size());
    for (std::size_t i = 0; i < first->parameters().size(); ++i) {
      const std::string& name = first->parameters()[i].name;
      s.note.say(fmt::format("init of parameter {}", name));
      const std::vector<float> start = first->init(i, 7);
      require(start == first->init(i, 7) && start == second.init(i, 7),
              "start values of parameter '{}' differ for one seed", name);
      numbers += start.size();
    }
    s.note.say("destroying the first of two instances");
    first.reset();
  }
  s.note.say("creating 16 instances");
  for (int i = 0; i < 16; ++i) const Instance again(s.encoding, s.values, s.model);
  const ModelShape& m = s.model;
  return fmt::format("{} with {}; tried in a model of {} heads of {}.", named(s, s.values),
                     counted(numbers, "learnable number"), m.heads, m.head_dim);
}

std::string check_steps(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  Instance instance(s.encoding, s.values, s.model);
  for (const pes_phase phase : {PES_TRAIN, PES_EVAL}) {
    s.note.say(phase == PES_TRAIN ? "a training step" : "an evaluation");
    Pass p;
    p.length = s.model.train_length, p.phase = phase;
    const Outputs o =
        run(*backend, instance, draw_inputs(instance, p.batch, p.length, 3, false), p);
    const std::string bad = not_finite(o);
    require(bad.empty(),
            "{}, at length {}; look for a division by zero, the logarithm or root of a negative "
            "number, an exponential that overflows, a row whose every key is hidden",
            bad, p.length);
  }
  return fmt::format("Finite at length {}, in training and evaluation.", s.model.train_length);
}

namespace {

// Scores of a model without an encoding: q.k / sqrt(D), 0 where a key is not visible.
Values plain_scores(const Inputs& in) {
  const std::int64_t B = in.q.shape[0], H = in.q.shape[1], T = in.q.shape[2], D = in.q.shape[3];
  const std::int64_t G = in.k.shape[1];
  Values out{{B, H, T, T}, std::vector<double>(static_cast<std::size_t>(B * H * T * T))};
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
          const double* q = &in.q.data[static_cast<std::size_t>(((b * H + h) * T + i) * D)];
          const double* k = &in.k.data[static_cast<std::size_t>(((b * G + h * G / H) * T + j) * D)];
          double& score = out.data[static_cast<std::size_t>(((b * H + h) * T + i) * T + j)];
          for (std::int64_t d = 0; d < D; ++d) score += q[d] * k[d];
          score /= std::sqrt(static_cast<double>(D));
        }
  return out;
}

// What it changes in a pass: "the embedding", "scores of layer 1"; "" for nothing.
std::string changed(Backend& backend, Instance& instance, const Pass& p) {
  constexpr double rounding = 1e-12;
  const Inputs in = draw_inputs(instance, p.batch, p.length, 3);
  const Outputs o = run(backend, instance, in, p, {.attention = false});
  if (distance_of(o.embedding, in.e) > 0) return "the embedding";
  const Values plain = plain_scores(in);
  for (std::size_t i = 0; i < o.layers.size(); ++i)
    if (distance_of(o.layers[i].scores, plain) > rounding)
      return fmt::format("scores of layer {}", i);
  return "";
}

}  // namespace

std::string check_acts(const Subject& s) {
  const std::vector<std::string> kind = taxonomy_of(*s.encoding.card);
  if (std::find(kind.begin(), kind.end(), "none") != kind.end())
    return "Its taxonomy has 'none': it need not act.";
  const auto backend = open_backend("reference", {});
  Instance instance(s.encoding, s.values, s.model);
  const int train = s.model.train_length;
  std::vector<Pass> passes = {{.length = train, .phase = PES_TRAIN, .step = 10}, {.length = train}};
  if (takes(*backend, instance, 4 * train)) passes.push_back({.batch = 1, .length = 4 * train});
  for (const Pass& p : passes)
    if (const std::string what = changed(*backend, instance, p); !what.empty())
      return fmt::format("It changes {}{}.", what, p.length > train ? " beyond training" : "");
  std::string hooks;
  for (const auto& [name, there] : {std::pair{"begin", s.encoding.begin != nullptr},
                                    std::pair{"embed", s.encoding.embed != nullptr},
                                    std::pair{"attend", s.encoding.attend != nullptr},
                                    std::pair{"rewrite", s.encoding.rewrite != nullptr}})
    if (there) hooks += (hooks.empty() ? "" : ", ") + std::string(name);
  fault(
      "encoding '{}' acts nowhere: embeddings and scores are those of a model without an encoding. "
      "Its hooks are {}: is another misspelt, or a slot set on a copy of pes::Attention? An "
      "encoding that is to do nothing says so by the taxonomy 'none'",
      s.encoding.card->name, hooks.empty() ? "none" : hooks);
}

std::string check_sizes(const Subject& s) {
  const auto backend = open_backend("cpu", {});
  const auto pass_with = [&](Host host, const char* what) {
    s.note.say(what);
    Instance instance(s.encoding, s.values, s.model, host);
    return run(*backend, instance, draw_inputs(instance, 2, 7, 3), Pass{});
  };
  const Outputs here = pass_with(Host::current, "structs of this host");
  const auto compare = [&](Host host, const char* what) {
    const std::string difference = first_difference(here, pass_with(host, what));
    require(difference.empty(), "{} change its results: {}", what, difference);
  };
  compare(Host::newest, "structs of a newer host, which are larger");
  try {
    compare(Host::oldest, "structs of the oldest host, with nothing behind them");
  } catch (const Refused& refusal) {
    return fmt::format(
        "Structs of a newer host give the bits of this one. In the oldest it refuses: {}",
        refusal.what());
  }
  return "Structs of the oldest and of a newer host give the bits of this one.";
}

}  // namespace pesuite::checks
