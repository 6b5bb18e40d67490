#include "analysis/baseline.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/json_error.h"
#include "base/program.h"
#include "base/text.h"

namespace pesuite {

namespace {

constexpr const char* schema = "pesuite.baseline/1";

Json number_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? Json(nullptr) : Json(x > 0 ? "inf" : "-inf");
}
double number_from(const Json& j) {
  if (j.is_string()) return j == "inf" ? Number::infinite : -Number::infinite;
  return j.is_number() ? j.get<double>() : Number::none;
}

Json to_json(const MeasuredSeries& s, const std::map<SeriesName, Calibrated>& calibration) {
  Json j = to_json(s.name);
  if (!s.settings.empty()) j["settings"] = s.settings;
  Json values = Json::object(), right = Json::object();
  std::int64_t n = 0;
  for (const auto& [seed, number] : s.seeds) {
    values[std::to_string(seed)] = number_json(number.value);
    if (!number.right.empty()) right[std::to_string(seed)] = number.right;
    n = std::max(n, number.n);
  }
  j["values"] = values;
  if (!right.empty()) j["right"] = right;
  if (n > 0) j["n"] = n;
  if (const auto it = calibration.find(s.name); it != calibration.end())
    j["calibration"] = {{"variance", it->second.variance},
                        {"differences", it->second.differences},
                        {"spread", it->second.spread}};
  return j;
}

std::uint64_t seed_of(const std::string& text) {
  return std::stoull(text);
}

void read_series(const Json& j, Measurement& m) {
  MeasuredSeries s;
  s.name = series_from_json(j);
  s.settings = j.value("settings", std::string());
  for (const auto& [seed, value] : j.at("values").items()) {
    Number& n = s.seeds[seed_of(seed)];
    n.value = number_from(value), n.n = j.value("n", std::int64_t{0});
  }
  if (j.contains("right"))
    for (const auto& [seed, text] : j.at("right").items()) s.seeds[seed_of(seed)].right = text;
  if (j.contains("calibration")) {
    const Json& c = j.at("calibration");
    m.calibration[s.name] = {c.at("variance"), c.at("differences"), c.at("spread")};
  }
  m.series.push_back(std::move(s));
}

Json to_json(const MeasuredCell& c) {
  Json j = {{"encoding", c.encoding},      {"task", c.task}, {"model", c.model},
            {"train_len", c.train_length}, {"seed", c.seed}, {"status", c.status}};
  if (!c.reason.empty()) j["reason"] = c.reason;
  if (!c.digest.empty()) j["digest"] = c.digest;
  return j;
}

MeasuredCell cell_from(const Json& j) {
  MeasuredCell c{j.at("encoding"), j.at("task"), j.at("model"), j.at("train_len"), j.at("seed")};
  c.status = j.at("status");
  c.reason = j.value("reason", std::string()), c.digest = j.value("digest", std::string());
  return c;
}

Json to_json(const Baseline& b) {
  const Measurement& m = b.measured;
  Json j = {{"schema", schema},       {"name", b.name},       {"suite", m.suite},
            {"program", m.program},   {"epoch", m.epoch},     {"machine", m.machine},
            {"versions", m.versions}, {"gate", Json::array()}};
  for (const GateRule& g : m.gates) j["gate"].push_back(to_json(g));
  for (const char* key : {"history", "suppressions", "series", "cells"}) j[key] = Json::array();
  for (const BaselineNote& n : b.history)
    j["history"].push_back({{"time", n.time}, {"who", n.who}, {"what", n.what}, {"why", n.why}});
  for (const Suppression& s : b.suppressions)
    j["suppressions"].push_back(
        {{"series", s.series}, {"until", s.until}, {"who", s.who}, {"why", s.why}});
  if (!m.calibrated_by.empty()) j["calibrated_by"] = m.calibrated_by;
  for (const auto& [metric, c] : m.mean_calibration)
    j["mean_calibration"][metric] = {{"variance", c.variance}, {"differences", c.differences}};
  if (std::isfinite(b.false_alarms)) j["false_alarms"] = b.false_alarms;
  for (const MeasuredSeries& s : m.series) j["series"].push_back(to_json(s, m.calibration));
  for (const MeasuredCell& c : m.cells) j["cells"].push_back(to_json(c));
  if (!b.prefix.is_null()) j["prefix"] = b.prefix;
  return j;
}

Baseline from_json(const Json& j) {
  Baseline b;
  Measurement& m = b.measured;
  b.name = j.at("name");
  m.name = "baseline " + b.name, m.suite = j.at("suite"), m.program = j.at("program");
  m.epoch = j.at("epoch"), m.machine = j.at("machine");
  for (const auto& [name, version] : j.at("versions").items()) m.versions[name] = version;
  for (const Json& g : j.at("gate")) m.gates.push_back(gate_from_json(g));
  for (const Json& n : j.at("history"))
    b.history.push_back({n.at("time"), n.at("who"), n.at("what"), n.at("why")});
  for (const Json& s : j.at("suppressions"))
    b.suppressions.push_back({s.at("series"), s.at("until"), s.at("who"), s.at("why")});
  m.calibrated_by = j.value("calibrated_by", std::string());
  if (j.contains("mean_calibration"))
    for (const auto& [metric, c] : j.at("mean_calibration").items())
      m.mean_calibration[metric] = {c.at("variance"), c.at("differences"), 0};
  b.false_alarms = j.value("false_alarms", Number::none);
  for (const Json& s : j.at("series")) read_series(s, m);
  for (const Json& c : j.at("cells")) m.cells.push_back(cell_from(c));
  for (const MeasuredCell& c : m.cells) m.seeds.insert(c.seed);
  if (j.contains("prefix")) b.prefix = j.at("prefix");
  return b;
}

std::string digest_of(const Json& without_digest) {
  return sha256(canonical(without_digest)).substr(0, 16);
}

}  // namespace

std::string baseline_text(const Baseline& b) {
  Json j = to_json(b);
  j["digest"] = digest_of(j);
  // an element a line: what changes in git is what changed
  std::string out = "{";
  for (const auto& [key, value] : j.items()) {
    out += fmt::format("{}\n{}: ", out.size() > 1 ? "," : "", Json(key).dump());
    if (!value.is_array() || value.empty()) {
      out += value.dump();
      continue;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i)
      out += fmt::format("{}\n {}", i > 0 ? "," : "", value[i].dump());
    out += "\n]";
  }
  return out + "\n}\n";
}

fs::path baseline_file(const std::string& name, const fs::path& folder) {
  if (name.ends_with(".json")) return name;
  const bool plain =
      !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
      });
  if (!plain)
    fail(Exit::usage,
         "'{}' is no name of a baseline; write letters, digits, '_', '-' and '.', or a file that "
         "ends in .json",
         name);
  return folder / (name + ".json");
}

Baseline read_baseline(const fs::path& file) {
  if (!fs::exists(file)) {
    std::vector<std::string> known;
    std::error_code none;
    for (const auto& item :
         fs::directory_iterator(file.parent_path().empty() ? "." : file.parent_path(), none))
      if (item.path().extension() == ".json") known.push_back(item.path().stem());
    std::sort(known.begin(), known.end());
    fail(Exit::data,
         "there is no baseline {}{}; 'pesuite baseline save NAME RUN' makes one of a run",
         file.string(),
         known.empty() ? "" : fmt::format(", beside it there are {}", join(known, ", ")));
  }
  const Json j = Json::parse(read_file(file), nullptr, false);
  if (j.is_discarded())
    fail(Exit::data,
         "{} is damaged: it is no JSON (a merge that was not resolved?); take the file of an "
         "earlier commit, or save the baseline anew",
         file.string());
  const std::string found = j.is_object() ? j.value("schema", std::string()) : "";
  if (!found.starts_with("pesuite.baseline/"))
    fail(Exit::data, "{} is no baseline of pesuite: it lacks \"schema\": \"{}\"", file.string(),
         schema);
  if (found != schema)
    fail(Exit::data,
         "{} is a baseline of another version ({}; this pesuite reads {}): save it anew with this "
         "version, or use the version that wrote it",
         file.string(), found, schema);
  try {
    Json rest = j;
    rest.erase("digest");
    if (j.value("digest", std::string()) != digest_of(rest))
      fail(Exit::data,
           "{} is not as pesuite wrote it: its digest does not fit (edited by hand, or merged?); "
           "take the file of an earlier commit, or save the baseline anew",
           file.string());
    return from_json(j);
  } catch (const Json::exception& e) {
    fail(Exit::data, "{} is damaged: {}", file.string(), json_error(e));
  } catch (const std::logic_error& e) {  // a seed that is none
    fail(Exit::data, "{} is damaged: {}", file.string(), e.what());
  }
}

void write_baseline(const fs::path& file, const Baseline& b) {
  sweep_temporaries(file.has_parent_path() ? file.parent_path() : ".");
  write_file_atomic(file, baseline_text(b));
}

std::vector<std::string> accept(Baseline& b, Measurement now) {
  std::vector<std::string> out;
  const auto has = [&](const SeriesName& name) {
    return std::any_of(now.series.begin(), now.series.end(),
                       [&](const MeasuredSeries& s) { return s.name == name; });
  };
  std::size_t gone = 0;
  for (const MeasuredSeries& s : b.measured.series) gone += has(s.name) ? 0 : 1;
  if (gone > 0)
    out.push_back(fmt::format("{} of the baseline are not in the run and are dropped", gone));
  for (const auto& [name, calibrated] : b.measured.calibration)
    if (has(name)) now.calibration[name] = calibrated;
  if (gone == 0) now.mean_calibration = b.measured.mean_calibration;
  now.calibrated_by = now.calibration.empty() ? "" : b.measured.calibrated_by;
  std::erase_if(b.suppressions, [&](const Suppression& s) {
    const bool expired = s.until < today();
    if (expired)
      out.push_back(
          fmt::format("the suppression of '{}' expired on {} and is dropped", s.series, s.until));
    return expired;
  });
  now.name = b.measured.name;
  b.measured = std::move(now);
  return out;
}

const Suppression* suppression_of(const Baseline& b, const SeriesName& name,
                                  const std::string& day) {
  for (const Suppression& s : b.suppressions)
    if (s.until >= day &&
        (glob_match(s.series, series_text(name)) || glob_match(s.series, series_text(name, true))))
      return &s;
  return nullptr;
}

std::string today() {
  return utc_timestamp().substr(0, 10);
}

std::string parse_day(const std::string& text) {
  int year = 0, month = 0, day = 0, end = 0;
  const bool read = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &end) == 3 &&
                    static_cast<std::size_t>(end) == text.size() && text.size() == 10;
  static constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (!read || year < 2000 || month < 1 || month > 12 || day < 1 ||
      day > days[month - 1] + (month == 2 && leap ? 1 : 0))
    fail(Exit::usage, "'{}' is no day; write e.g. 2026-12-31", text);
  return text;
}

std::string who_is_it() {
  for (const char* name : {"PESUITE_WHO", "GIT_AUTHOR_NAME"})
    if (const char* found = std::getenv(name); found != nullptr && *found != '\0') return found;
  if (!find_program("git").empty())
    if (const std::string said = trim(printed_by({"git", "config", "user.name"}).out);
        !said.empty())
      return said;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : fmt::format("user {}", ::getuid());
}

}  // namespace pesuite
