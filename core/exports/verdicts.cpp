#include "exports/verdicts.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json_error.h"

namespace pesuite {

namespace {

std::string text_of(const Json& v) {
  return v.is_string() ? v.get<std::string>() : v.dump();
}

std::string name_of(const Json& s) {
  if (s.contains("series") && s["series"].is_string()) return s["series"];
  if (s.contains("group")) return text_of(s["group"]);
  const Json& n = s.contains("series") && s["series"].is_object() ? s["series"] : s;
  std::string out;
  for (const char* key : {"task", "encoding", "model"})
    if (n.contains(key)) out += (out.empty() ? "" : " · ") + text_of(n[key]);
  out += (out.empty() ? "" : " · ") + n.value("metric", std::string("?"));
  if (n.contains("eval_len")) out += " at " + text_of(n["eval_len"]);
  if (n.contains("protocol")) out += ", " + text_of(n["protocol"]);
  for (const char* more : {"axes", "coords"})
    for (const Json all = n.value(more, Json::object()); const auto& [key, value] : all.items())
      out += fmt::format(", {} {}", key, text_of(value));
  return out;
}

double number_of(const Json& s, const char* key) {
  return s.contains(key) && s[key].is_number() ? s[key].get<double>()
                                               : std::numeric_limits<double>::quiet_NaN();
}

SeriesVerdict series_of(const Json& s) {
  SeriesVerdict v;
  v.name = name_of(s), v.verdict = s.at("verdict").get<std::string>();
  v.gated = s.value("gated", true);
  v.difference = number_of(s, "difference"), v.p = number_of(s, "p");
  v.low = number_of(s, "low"), v.high = number_of(s, "high");
  if (s.contains("seeds"))
    v.seeds = s["seeds"].is_array() ? s["seeds"].size() : s["seeds"].get<std::size_t>();
  v.seeds_needed = s.value("seeds_needed", std::size_t{0});
  v.why = s.value("why", std::string()), v.suppressed = s.value("suppressed", std::string());
  return v;
}

std::string failure_of(const Json& c) {
  std::string reason = c.value("reason", std::string());
  return fmt::format("{} · {} · {} · s{}: was {} and is {}{}", text_of(c.value("task", Json(""))),
                     text_of(c.value("encoding", Json(""))), text_of(c.value("model", Json(""))),
                     text_of(c.value("seed", Json(0))), c.value("before", std::string("?")),
                     c.value("after", std::string("?")), reason.empty() ? "" : ", " + reason);
}

}  // namespace

bool SeriesVerdict::fails() const {
  return gated && suppressed.empty() && (verdict == "regressed" || verdict == "missing");
}

Verdicts read_verdicts(const fs::path& file) {
  const Json j = Json::parse(read_file(file), nullptr, false);
  const std::string schema = j.is_object() ? j.value("schema", std::string()) : "";
  if (schema != "pesuite.comparison/1")
    fail(Exit::data, "{}: these are no verdicts; 'pesuite compare A B --json' writes them",
         file.string());
  Verdicts out;
  try {
    out.before = j.value("before", std::string()), out.after = j.value("after", std::string());
    out.verdict = j.value("verdict", std::string());
    out.sentence = j.value("sentence", std::string());
    for (const Json& s : j.at("series")) out.series.push_back(series_of(s));
    for (const Json& c : j.value("cells", Json::array()))
      if (c.value("worse", false)) out.failures.push_back(failure_of(c));
    for (const Json& n : j.value("notes", Json::array())) out.notes.push_back(text_of(n));
  } catch (const Json::exception& e) {
    fail(Exit::data, "{}: its verdicts are damaged: {}", file.string(), json_error(e));
  }
  return out;
}

}  // namespace pesuite
