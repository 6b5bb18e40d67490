// Random options, sizes and steps. A round follows from its seed alone, so that --reproduce SEED
// runs the one that failed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <pesuite/random.hpp>

#include "base/text.h"
#include "check/checks.h"

namespace pesuite::checks {

namespace {

int between(pes::Random& r, int low, int high) {
  return low + static_cast<int>(r.below(static_cast<std::uint32_t>(high - low + 1)));
}

// A number of the option's range: its bounds and its default now and then, else spread evenly over
// the orders of magnitude around the default, so that sizes stay small.
double number_of(const pes_option& o, pes::Random& r) {
  const double normal = std::strtod(o.value, nullptr);
  const double reach = std::max(64.0, 16 * std::fabs(normal));
  const double low = std::max(o.low, -reach), high = std::min(o.high, reach);
  switch (r.below(8)) {
    case 0: return low;
    case 1: return high;
    case 2: return std::clamp(normal, o.low, o.high);
    default: break;
  }
  if (low > 0 || (low == 0 && r.below(2) == 0)) {
    const double from = std::log(std::max(low, 1e-3 * high)), to = std::log(std::max(high, 1e-300));
    return std::clamp(std::exp(from + (to - from) * r.uniform()), o.low, o.high);
  }
  return low + (high - low) * r.uniform();
}

std::string text_of(const pes_option& o, pes::Random& r) {
  switch (o.type) {
    case PES_BOOL: return r.below(2) == 0 ? "true" : "false";
    case PES_INT:
      return fmt::format("{:.0f}", std::clamp(std::round(number_of(o, r)), o.low, o.high));
    case PES_REAL: return format_number(number_of(o, r));
    case PES_CHOICE: {
      const std::vector<std::string> all = split(o.choices, '|');
      return all[r.below(static_cast<std::uint32_t>(all.size()))];
    }
    case PES_REALS: {
      std::vector<std::string> parts(r.below(6));
      for (std::string& p : parts) p = format_number(std::clamp(number_of(o, r), o.low, o.high));
      return fmt::format("[{}]", join(parts, ", "));
    }
    case PES_TEXT: return o.value;
  }
  return o.value;
}

struct Round {
  std::vector<std::string> values;
  ModelShape model;
  Pass pass;
};

Round draw(const Subject& s, std::uint64_t seed) {
  pes::Random r(seed, pes::purpose("fuzz"), 0);
  Round out;
  const auto options = options_of(*s.encoding.card);
  for (std::size_t i = 0; i < options.size(); ++i)
    out.values.push_back(r.below(3) == 0 ? s.values[i] : text_of(*options[i], r));
  const int groups = between(r, 1, 3);
  out.model = {between(r, 1, 3), groups * between(r, 1, 3), groups, 0, 0, between(r, 1, 12), 0};
  out.model.head_dim = r.below(4) == 0 ? between(r, 1, 20) : 2 * between(r, 1, 12);
  out.model.width = out.model.heads * out.model.head_dim;
  out.model.max_length = out.model.train_length * between(r, 1, 3);
  Pass& p = out.pass;
  p.phase = r.below(2) == 0 ? PES_TRAIN : PES_EVAL;
  p.batch = between(r, 1, 2);
  p.length = between(r, 1, p.phase == PES_TRAIN ? out.model.train_length : out.model.max_length);
  p.step = between(r, 0, 100);
  p.seed = r.below(1u << 30);
  return out;
}

enum class Result { ran, not_created, declined };

Result play(const Subject& s, const Round& round) {
  const auto backend = open_backend("reference", {});
  std::unique_ptr<Instance> instance;
  try {
    instance = std::make_unique<Instance>(s.encoding, round.values, round.model);
  } catch (const Refused&) {
    return Result::not_created;
  }
  for (const Encoding::ParameterSpec& p : instance->parameters())
    if (p.shape.count() > 1 << 20) return Result::not_created;  // too large to be worth a step
  const Inputs in =
      draw_inputs(*instance, round.pass.batch, round.pass.length, round.pass.seed, false);
  try {
    const Outputs o = run(*backend, *instance, in, round.pass);
    for (const LayerPass& l : o.layers)
      require(l.y.shape == Shape{round.pass.batch, round.pass.length, round.model.width},
              "the attention's output is {}", l.y.shape.text());
    gradients(*backend, *instance, in, round.pass);
  } catch (const Refused&) {
    return Result::declined;
  }
  return Result::ran;
}

}  // namespace

std::string check_fuzz(const Subject& s) {
  const auto start = std::chrono::steady_clock::now();
  const auto more = [&](int round) {
    if (s.seconds <= 0) return round < s.rounds;
    return std::chrono::steady_clock::now() - start < std::chrono::duration<double>(s.seconds);
  };
  int count[3] = {};
  int rounds = 0;
  for (; more(rounds); ++rounds) {
    // the first round has the given seed itself: what --reproduce asks for
    const std::uint64_t seed =
        rounds == 0 ? s.seed : pes::mix64(s.seed, static_cast<std::uint64_t>(rounds)) >> 16;
    const Round round = draw(s, seed);
    const std::string what = fmt::format(
        "{} in a model of {} layers, {} heads ({} of keys) of {}, length {} of {} and {}; again "
        "with "
        "--reproduce {}",
        expression_text(*s.encoding.card, round.values), round.model.layers, round.model.heads,
        round.model.kv_heads, round.model.head_dim, round.pass.length, round.model.train_length,
        round.model.max_length, seed);
    s.note.say(what);
    try {
      ++count[static_cast<int>(play(s, round))];
    } catch (const Fault& f) {
      fault("{}: {}", what, f.what());
    }
  }
  return fmt::format("{} rounds: {} ran, {} were refused at creation, {} declined in a step.",
                     rounds, count[0], count[1], count[2]);
}

}  // namespace pesuite::checks
