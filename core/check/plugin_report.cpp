// Findings for programs: counts, JSON, JUnit.
#include <algorithm>

#include "base/text.h"
#include "check/plugin_check.h"

namespace pesuite::checks {

namespace {

constexpr Outcome outcomes[] = {Outcome::passed, Outcome::failed, Outcome::crashed,
                                Outcome::timed_out, Outcome::skipped};

std::size_t count(const std::vector<Report>& reports, Outcome o) {
  std::size_t n = 0;
  for (const Report& r : reports) n += r.count(o);
  return n;
}

std::string test_case(const Report& r, const Finding& f) {
  std::string out =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                  xml_text(fmt::format("{}: {}", r.file.filename().string(), f.subject)),
                  xml_text(f.check), f.seconds);
  const char* element = f.outcome == Outcome::failed    ? "failure"
                        : f.outcome == Outcome::skipped ? "skipped"
                        : f.outcome == Outcome::passed  ? nullptr
                                                        : "error";
  if (element == nullptr) return out + "/>\n";
  return out + fmt::format(">\n      <{} message=\"{}\"/>\n    </testcase>\n", element,
                           xml_text(f.detail));
}

}  // namespace

std::size_t Report::count(Outcome o) const {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                [&](const Finding& f) { return f.outcome == o; }));
}
bool Report::sound() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return is_bad(f.outcome); });
}

std::string summary(const std::vector<Report>& reports) {
  std::string out;
  for (const Outcome o : outcomes)
    if (const std::size_t n = count(reports, o);
        n > 0 || o == Outcome::passed || o == Outcome::failed)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, outcome_name(o));
  return out;
}

Json to_json(const std::vector<Report>& reports) {
  Json libraries = Json::array();
  for (const Report& r : reports) {
    Json findings = Json::array();
    for (const Finding& f : r.findings)
      findings.push_back({{"subject", f.subject},
                          {"check", f.check},
                          {"outcome", outcome_name(f.outcome)},
                          {"detail", f.detail},
                          {"seconds", f.seconds}});
    libraries.push_back({{"file", r.file.string()}, {"sound", r.sound()}, {"findings", findings}});
  }
  Json out = {{"schema", "pesuite.plugin_check/1"}};
  for (const Outcome o : outcomes) out[std::string(outcome_name(o))] = count(reports, o);
  out["libraries"] = std::move(libraries);
  return out;
}

std::string junit(const std::vector<Report>& reports) {
  const auto counts = [](std::size_t tests, std::size_t failures, std::size_t errors,
                         std::size_t skipped) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures,
                       errors, skipped);
  };
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pesuite plugin check\">\n";
  for (const Report& r : reports) {
    double seconds = 0;
    for (const Finding& f : r.findings) seconds += f.seconds;
    out += fmt::format(
        "  <testsuite name=\"{}\" {} time=\"{:.3f}\">\n", xml_text(r.file.string()),
        counts(r.findings.size(), r.count(Outcome::failed),
               r.count(Outcome::crashed) + r.count(Outcome::timed_out), r.count(Outcome::skipped)),
        seconds);
    for (const Finding& f : r.findings) out += test_case(r, f);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace pesuite::checks
