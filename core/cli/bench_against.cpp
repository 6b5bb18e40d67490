#include "cli/bench_against.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/against.h"
#include "analysis/numbers.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_error.h"
#include "base/program.h"
#include "cli/catalog.h"
#include "cli/steps.h"
#include "run/environment.h"

namespace pesuite::cli {

namespace {

constexpr double usual_margin = 0.05;

double margin_of(const Arguments& a) {
  const double margin = a.get<double>("margin", usual_margin);
  if (!(margin > 0 && margin <= 1))
    fail(Exit::usage, "--margin {}: wants a share, above 0 and up to 1", margin);
  return margin;
}

std::string last_line(const std::string& text) {
  const std::string all = trim(text);
  return all.substr(all.rfind('\n') + 1);  // npos + 1 is 0
}

fs::path this_program() {
  return fs::canonical("/proc/self/exe");
}

// The same measurement, one window long; libraries are those that each program finds.
std::vector<std::string> one_window(const Arguments& a) {
  std::vector<std::string> words = {"bench", a.text("kind"), "--repetitions", "1", "--json"};
  for (const char* flag : {"config", "device", "dtype"})
    if (a.has(flag)) words.insert(words.end(), {fmt::format("--{}", flag), a.text(flag)});
  for (const char* flag : {"encoding", "lengths", "slots"})
    for (const std::string& value : a.texts(flag))
      words.insert(words.end(), {fmt::format("--{}", flag), value});
  words.insert(words.end(), {"--window", format_number(a.get<double>("window")), "--threads",
                             std::to_string(a.threads())});
  return words;
}

void measure(const std::string& program, std::vector<std::string> words, Windows& into) {
  words.insert(words.begin(), program);
  const Printed p = printed_by(words);
  if (p.code != 0)
    fail(Exit::data, "{} ended with exit code {}: {}", join(words, " "), p.code, last_line(p.err));
  try {
    into.add(Json::parse(p.out), program);
  } catch (const Json::parse_error& e) {
    fail(Exit::data, "{} printed no JSON: {}", join(words, " "), json_error(e));
  }
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f}", 1e3 * seconds);
}

void print_comparison(const std::vector<AgainstOld>& all, double memory) {
  std::vector<std::vector<std::string>> rows = {
      {"benchmark", "ms now", "ms of the other", "ratio", "95 %", "p", "verdict"}};
  for (const AgainstOld& x : all)
    rows.push_back({x.name, milliseconds(x.now), milliseconds(x.old),
                    fmt::format("{:.3f}", x.ratio),
                    std::isnan(x.low) ? "–" : fmt::format("{:.3f} to {:.3f}", x.low, x.high),
                    fmt::format("{:.4f}", x.p), speed_name(x.verdict)});
  fmt::print("{}\nmemory: {:.3f} times the other's at most\n", plain_table(rows), memory);
}

Json comparison_json(const std::vector<AgainstOld>& all, double memory, double margin) {
  Json out = {{"schema", "pesuite.bench_against/1"}, {"margin", margin}, {"memory", memory}};
  out["benchmarks"] = Json::array();
  for (const AgainstOld& x : all)
    out["benchmarks"].push_back({{"name", x.name},
                                 {"seconds", x.now},
                                 {"other_seconds", x.old},
                                 {"ratio", x.ratio},
                                 {"low", std::isnan(x.low) ? Json() : Json(x.low)},
                                 {"high", std::isnan(x.high) ? Json() : Json(x.high)},
                                 {"p", x.p},
                                 {"verdict", speed_name(x.verdict)}});
  return out;
}

}  // namespace

void add_flags_of_comparison(Arguments& a) {
  a.flags()("against", po::value<std::string>(),
            "another build of pesuite: both run in turn, window by window, and what is slower is "
            "told")("margin", po::value<double>(),
                    "of --against: the share that matters (default 0.05)")(
      "gate", po::bool_switch(),
      "of --against: exit code 1 where something is slower or needs more memory, by more than the "
      "margin");
}

int bench_against(const Arguments& a) {
  const double margin = margin_of(a);
  const std::string other = a.text("against");
  if (a.text("kind") == "profile" || a.has("figures"))
    fail(Exit::usage,
         "--against compares times of whole passes: bench train, eval, attention or "
         "overhead, without --figures");
  if (!fs::is_regular_file(other) || ::access(other.c_str(), X_OK) != 0)
    fail(Exit::usage, "--against {}: is no program; name the bin/pesuite of another build", other);
  const std::vector<std::string> words = one_window(a);
  const int rounds = a.count("repetitions", 1);
  Windows now, old;
  {
    Steps steps(fmt::format("bench {}: preparing", a.text("kind")));
    for (int i = 0; i < rounds; ++i) {
      steps.at(fmt::format("bench {}: round {} of {}", a.text("kind"), i + 1, rounds));
      const auto of_this = [&] { measure(this_program().string(), words, now); };
      if (i % 2 == 0) of_this();
      measure(fs::canonical(other).string(), words, old);
      if (i % 2 == 1) of_this();
    }
  }
  const auto all = against_old(now, old, margin);
  if (all.empty()) fail(Exit::data, "{} has none of these benchmarks", other);
  const double memory = median(now.memory) / median(old.memory);
  const Json json = comparison_json(all, memory, margin);
  if (a.has("out")) write_file_atomic(a.text("out"), json.dump(1) + "\n");
  if (a.flag("json"))
    fmt::print("{}\n", json.dump(1));
  else
    print_comparison(all, memory);
  bool worse = memory > 1 + margin;
  if (worse) fmt::print(stderr, "warning: it needs {:.3f} times the memory\n", memory);
  for (const AgainstOld& x : all) {
    if (x.verdict != Speed::slower) continue;
    worse = true;
    fmt::print(stderr, "warning: {} takes {:.3f} times as long\n", x.name, x.ratio);
  }
  return worse && a.flag("gate") ? static_cast<int>(Exit::regression) : 0;
}

}  // namespace pesuite::cli
