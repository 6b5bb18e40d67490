// Options, creation, a first step, and structs of other hosts' sizes.
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "check/checks.h"

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
    require(bad.empty(), "{} is not finite at length {}", bad, p.length);
  }
  return fmt::format("Finite at length {}, in training and evaluation.", s.model.train_length);
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
