// What panels of CI read: JUnit XML, Bencher metric format, github-action-benchmark.
#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "analysis/tracked.h"
#include "base/text.h"
#include "exports/exports.h"

namespace pesuite {

namespace {

struct TestCase {
  std::string group, name, kind, message;  // kind: "", "failure" or "skipped"
  double seconds = 0;
};

std::string suite_xml(const std::string& name, const std::vector<TestCase>& all) {
  std::size_t failures = 0, skipped = 0;
  double seconds = 0;
  std::string cases;
  for (const TestCase& c : all) {
    failures += c.kind == "failure" ? 1 : 0, skipped += c.kind == "skipped" ? 1 : 0;
    seconds += c.seconds;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                         xml_text(c.group), xml_text(c.name), c.seconds);
    if (!c.kind.empty())
      cases += fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n", c.kind,
                           xml_text(c.message));
    else if (!c.message.empty())
      cases += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                           xml_text(c.message));
    else
      cases += "/>\n";
  }
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}  </testsuite>\n",
      xml_text(name), all.size(), failures, skipped, seconds, cases);
}

std::vector<TestCase> cells_of(const ExportedRun& run) {
  std::vector<TestCase> out;
  std::map<std::string, std::size_t> known;
  for (const Json& r : run.records) {
    const std::string id = r.value("cell", "");
    const auto [it, is_new] = known.emplace(id, out.size());
    if (is_new)
      out.push_back({fmt::format("{}.{}", r.value("suite", ""), r.value("task", "")),
                     fmt::format("{} {} seed {}", r.at("encoding").value("id", ""),
                                 r.value("model", ""), r.value("seed", std::uint64_t{0})),
                     "", ""});
    TestCase& c = out[it->second];
    c.seconds = std::max(c.seconds, r.value("wall_s", 0.0));
    const std::string status = r.value("status", "ok");
    if (r.value("metric", "") == "cell") {
      c.kind = "failure";
      c.message = status + ": " + r.value("reason", "");
    } else if (status != "ok" && c.kind.empty()) {
      c.message = status + ", which is a result";
    }
  }
  return out;
}

std::string numbers_of(const SeriesVerdict& v) {
  std::string out;
  if (std::isfinite(v.difference)) out += fmt::format(", difference {:+.4g}", v.difference);
  if (std::isfinite(v.low) && std::isfinite(v.high))
    out += fmt::format(" ({:.4g} to {:.4g})", v.low, v.high);
  if (std::isfinite(v.p)) out += fmt::format(", p {:.2g}", v.p);
  if (v.seeds > 0) out += fmt::format(", {}", counted(v.seeds, "seed"));
  if (v.seeds_needed > 0) out += fmt::format("; {} would decide", counted(v.seeds_needed, "seed"));
  if (!v.why.empty()) out += "; " + v.why;
  if (!v.suppressed.empty()) out += "; suppressed: " + v.suppressed;
  return out;
}

struct Mean {
  double value = 0, low = 0, high = 0;
  std::size_t seeds = 0, without = 0;  // without: a number
};

Mean mean_of(const Tracked& t) {
  std::vector<double> v;
  for (const auto& [seed, o] : t.seeds)
    if (std::isfinite(o.value)) v.push_back(o.value);
  Mean m;
  m.seeds = v.size(), m.without = t.seeds.size() - v.size();
  const double n = static_cast<double>(v.size());
  for (const double x : v) m.value += x / n;
  double squares = 0;
  for (const double x : v) squares += (x - m.value) * (x - m.value);
  const double half =
      v.size() < 2 ? 0 : t_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1) / n);
  m.low = m.value - half, m.high = m.value + half;
  return m;
}

}  // namespace

std::string junit_xml(const std::vector<ExportedRun>& runs, const Verdicts* verdicts) {
  std::string suites;
  for (const ExportedRun& run : runs) suites += suite_xml(run.name, cells_of(run));
  if (verdicts != nullptr) {
    std::vector<TestCase> all;
    for (const SeriesVerdict& v : verdicts->series) {
      const bool undecided = v.gated && v.verdict == "inconclusive";
      all.push_back({"verdicts", v.name,
                     v.fails()   ? "failure"
                     : undecided ? "skipped"
                                 : "",
                     v.verdict + numbers_of(v)});
    }
    for (const std::string& f : verdicts->failures)
      all.push_back({"verdicts", f.substr(0, f.find(": ")), "failure", f});
    suites += suite_xml(fmt::format("{} against {}", verdicts->after, verdicts->before), all);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suites + "</testsuites>\n";
}

std::string bencher_json(const std::vector<ExportedRun>& runs) {
  Json out = Json::object();
  for (const ExportedRun& run : runs)
    for (const Tracked& t : tracked(run.records, Follow::costs)) {
      const Mean m = mean_of(t);
      if (m.seeds == 0 || t.metric == "cell") continue;
      const std::string measure = t.split == "val" ? "validation_" + t.metric : t.metric;
      std::string place = t.place();
      if (const std::size_t at = place.find(t.metric); at != std::string::npos)
        place = trim(place.substr(at + t.metric.size()));
      Json& benchmark = out[fmt::format("{} / {} / {}{}", t.task, t.encoding, t.model,
                                        place.empty() ? "" : " / " + place)];
      benchmark[measure] = {{"value", m.value}, {"lower_value", m.low}, {"upper_value", m.high}};
    }
  return out.dump(1) + "\n";
}

std::string action_benchmark_json(const std::vector<ExportedRun>& runs,
                                  const std::string& direction) {
  Json out = Json::array();
  for (const ExportedRun& run : runs)
    for (const Tracked& t : tracked(run.records, Follow::costs)) {
      const Mean m = mean_of(t);
      if (m.seeds == 0 || t.metric == "cell" || t.direction != direction) continue;
      Json j = {{"name", t.name()}, {"unit", t.unit}, {"value", m.value}};
      if (m.seeds > 1) j["range"] = fmt::format("± {:.3g}", m.high - m.value);
      j["extra"] =
          fmt::format("{}{}", counted(m.seeds, "seed"),
                      m.without > 0 ? fmt::format(", {} more without a number", m.without) : "");
      out.push_back(std::move(j));
    }
  return out.dump(1) + "\n";
}

}  // namespace pesuite
