#include "hf/golden.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "model/sample.h"

namespace pesuite::hf {

namespace {

using Ids = std::vector<std::int32_t>;

constexpr int continued = 8;  // tokens of a greedy continuation

// One sequence of a run.
void compare(Checkpoint& c, const Json& run, std::size_t sequence, double noise, GoldenRun& out) {
  const Ids tokens = run.at("input_ids").at(sequence).get<Ids>();
  std::vector<double> logits;
  Inspection look;
  look.logits = [&](const std::vector<double>& all) { logits = all; };
  const Scores scores = c.score(tokens, look);
  const auto classes = static_cast<std::size_t>(c.published().model.vocabulary);
  const Json& wanted = run.at("logits").at(sequence);
  const auto places = run.at("positions").get<std::vector<std::size_t>>();
  double largest = 0, apart = 0;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const auto row = wanted.at(k).get<std::vector<double>>();
    PES_CHECK(row.size() == classes && (places[k] + 1) * classes <= logits.size());
    for (std::size_t v = 0; v < classes; ++v) {
      largest = std::max(largest, std::abs(row[v]));
      apart = std::max(apart, std::abs(row[v] - logits[places[k] * classes + v]));
    }
  }
  out.logits = std::max(out.logits, std::max(0.0, apart - noise) / largest);
  const auto nats = run.at("token_nll").at(sequence).get<std::vector<double>>();
  for (std::size_t t = 0; t < nats.size(); ++t)
    out.nats = std::max(out.nats, std::abs(nats[t] - scores.nats[t]));
  if (!run.contains("greedy")) return;
  const Ids greedy = run.at("greedy").at(sequence).get<Ids>();
  Generating behind_cache;
  behind_cache.sampling.temperature = 0;
  behind_cache.tokens = static_cast<int>(greedy.size());
  out.greedy =
      out.greedy && generate(c.model(), std::span(&tokens, 1), behind_cache)[0].tokens == greedy;
  Ids longer = tokens;
  for (const std::int32_t next : greedy) {
    const std::int32_t best =
        longer.size() == tokens.size() ? scores.best.back() : c.score(longer).best.back();
    out.greedy = out.greedy && best == next;
    longer.push_back(next);
  }
}

}  // namespace

std::vector<GoldenRun> golden_runs(const Catalog& catalog, const fs::path& folder,
                                   const std::string& backend, Precision precision) {
  const Json expected = Json::parse(read_file(folder / "expected.json"), nullptr, false);
  if (!expected.is_object() || !expected.contains("runs"))
    fail(Exit::data, "{} holds no runs", (folder / "expected.json").string());
  const double noise = expected.value("float32_noise", 0.0);
  const bool rounded = precision != Precision::fp32;
  std::vector<GoldenRun> out;
  for (const Json& run : expected["runs"]) {
    const auto length = run.at("input_ids").at(0).size();
    GoldenRun r;
    r.name = fmt::format("{} {} tokens", folder.filename().string(), length);
    try {
      Checkpoint c(catalog, folder, open_backend(backend, {.threads = 1, .precision = precision}),
                   static_cast<int>(length) + continued);
      for (std::size_t i = 0; i < run.at("input_ids").size(); ++i) compare(c, run, i, noise, r);
      if (!(r.logits <= (rounded ? 2e-2 : 2e-5)))
        r.why = fmt::format("a logit is {:.2g} of the largest away", r.logits);
      else if (!rounded && !(r.nats <= 1e-4))
        r.why = fmt::format("a token's nats are {:.2g} away", r.nats);
      else if (!rounded && !r.greedy)
        r.why = "the greedy continuation is another";
    } catch (const Error& e) {
      r.why = e.what();
    }
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace pesuite::hf
