#include "plugin/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json_error.h"
#include "base/text.h"
#include "plugin/card.h"
#include "plugin/guide.h"

namespace pesuite {

namespace {

constexpr const char* measured_schema = "pesuite.measured/2";

// Calls body with the name and the member of each field, so that reading and writing agree.
template <class Row, class Body>
void each_field(Row& r,
                Body body) requires std::is_same_v<std::remove_const_t<Row>, LengthMeasured> {
  body("encoding", r.encoding), body("trained", r.trained), body("expression", r.expression);
  body("suite", r.suite), body("task", r.task), body("train_length", r.train_length);
  body("seeds", r.seeds), body("verdict", r.verdict), body("holds", r.holds);
  body("fails", r.fails), body("factor", r.factor), body("telling", r.telling);
  body("beaten", r.beaten), body("start", r.start), body("changes", r.changes);
}
template <class Row, class Body>
void each_field(Row& r,
                Body body) requires std::is_same_v<std::remove_const_t<Row>, ClaimMeasured> {
  body("encodings", r.encodings), body("suite", r.suite), body("id", r.id), body("says", r.says);
  body("source", r.source), body("verdict", r.verdict), body("numbers", r.numbers);
}

template <class Row>
std::string lines_of(const char* name, const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const Row& r : rows) {
    Json j;
    each_field(r, [&](const char* key, const auto& value) { j[key] = value; });
    lines.push_back("  " + j.dump());
  }
  return fmt::format(" \"{}\": [\n{}\n ]", name, join(lines, ",\n"));
}
template <class Row>
std::vector<Row> rows_of(const Json& list) {
  std::vector<Row> out;
  for (const Json& j : list)
    each_field(out.emplace_back(), [&](const char* key, auto& value) { j.at(key).get_to(value); });
  return out;
}

std::string times(double lengths) {
  return fmt::format("{:.3g}x", lengths);
}

}  // namespace

std::vector<LengthMeasured> Measured::of(const std::string& encoding) const {
  std::vector<LengthMeasured> out;
  for (const LengthMeasured& m : lengths)
    if (m.encoding == encoding) out.push_back(m);
  return out;
}

std::string measured_text(const Measured& m) {
  return fmt::format("{{\"schema\": \"{}\",\n{},\n{}\n}}\n", measured_schema,
                     lines_of("lengths", m.lengths), lines_of("claims", m.claims));
}

Measured read_measured(const std::string& text, const std::string& file) {
  try {
    const Json j = Json::parse(text);
    if (j.at("schema") != measured_schema)
      fail(Exit::data, "{}: its schema is {}, not {}; 'pesuite docs .' writes the file", file,
           j.at("schema").dump(), measured_schema);
    return {rows_of<LengthMeasured>(j.at("lengths")), rows_of<ClaimMeasured>(j.at("claims"))};
  } catch (const Json::exception& e) {
    fail(Exit::data, "{}: {}; 'pesuite docs .' writes the file", file, json_error(e));
  }
}

Measured shipped_measured() {
  std::error_code error;
  for (const fs::path& p : {program_folder() / PESUITE_MEASURED_DIR / "measured.json",
                            fs::path(PESUITE_MEASURED_SOURCE_DIR) / "measured.json"})
    if (fs::exists(p, error)) return read_measured(read_file(p), p.string());
  return {};
}

namespace {

constexpr std::size_t most_named = 4;  // of what is named; more are counted

// Things under headings, in the order in which the headings came, each once.
class Groups {
 public:
  using Things = std::vector<std::string>;
  Things& of(const std::string& heading) {
    const auto same = std::find_if(all_.begin(), all_.end(),
                                   [&](const auto& group) { return group.first == heading; });
    return same == all_.end() ? all_.emplace_back(heading, Things()).second : same->second;
  }
  void add(const std::string& heading, const std::string& thing) {
    Things& things = of(heading);
    if (std::find(things.begin(), things.end(), thing) == things.end()) things.push_back(thing);
  }
  // A '*' of a heading stands for its things, or for "7 tasks" where they are too many.
  std::string text(const char* what) const {
    std::vector<std::string> out;
    for (const auto& [heading, things] : all_) {
      if (things.empty()) continue;
      const std::size_t star = heading.find('*');
      out.push_back(
          heading.substr(0, star) +
          (things.size() > most_named ? counted(things.size(), what) : join(things, ", ")) +
          heading.substr(star + 1));
    }
    return join(out, "; ");
  }

 private:
  std::vector<std::pair<std::string, Things>> all_;
};

// "undecided" of "undecided (5 seeds for 80 % power)"; what is in brackets is on the pages.
std::string plain_verdict(const std::string& verdict) {
  for (const char* whole : {"not applicable (not learned)", "not applicable (lost by the swap)"})
    if (verdict.starts_with(whole)) return whole;
  return trim(verdict.substr(0, verdict.find_first_of("(,")));
}

std::string as_written(const LengthMeasured& m) {
  return m.expression == m.encoding ? "" : "as " + m.expression;
}
std::string run_of(const LengthMeasured& m) {
  return m.suite + (as_written(m).empty() ? "" : ", ") + as_written(m);
}
std::string task_of(const LengthMeasured& m) {
  return m.task + (as_written(m).empty() ? "" : " ") + as_written(m);
}

// Tasks in the order of their lengths, rising or falling by `sign`: "holds to 8x on lags, facts".
std::vector<std::pair<double, std::string>> in_order(const std::map<std::string, double>& lengths,
                                                     double sign) {
  std::vector<std::pair<double, std::string>> out;
  for (const auto& [task, length] : lengths) out.emplace_back(sign * length, task);
  std::sort(out.begin(), out.end());
  return out;
}
std::string grouped(const std::string& verb, const std::map<std::string, double>& lengths,
                    double sign, const std::string& behind = "") {
  Groups out;
  for (const auto& [length, task] : in_order(lengths, sign))
    out.add(fmt::format("{} {} on *{}", verb, times(sign * length), behind), task);
  return out.text("task");
}
std::string range_text(const std::map<std::string, double>& lengths) {
  const auto all = in_order(lengths, 1);
  return fmt::format("fails on {}, from {} ({}) to {} ({})", counted(all.size(), "task"),
                     times(all.front().first), all.front().second, times(all.back().first),
                     all.back().second);
}

}  // namespace

std::string Measured::claims_on(const std::string& encoding) const {
  const auto unique = [&](const std::string& id) {  // ids are a suite's own
    return std::count_if(claims.begin(), claims.end(),
                         [&](const ClaimMeasured& c) { return c.id == id; }) == 1;
  };
  Groups out;
  for (const char* first : {"reproduced at this size *", "not reproduced at this size *"})
    out.of(first);
  for (const ClaimMeasured& c : claims)
    if (std::find(c.encodings.begin(), c.encodings.end(), encoding) != c.encodings.end())
      out.add(plain_verdict(c.verdict) + " *", unique(c.id) ? c.id : c.id + " of " + c.suite);
  return out.text("claim");
}

bool fails_within(const LengthMeasured& m, double reach) {
  return m.fails > 0 && m.fails <= reach && (m.factor == 0 || m.fails <= m.factor);
}

std::string verdicts_text(const std::vector<LengthMeasured>& rows) {
  std::map<std::string, double> telling, holding, failing;  // by task: the furthest, the first
  for (const LengthMeasured& m : rows) {
    if (m.holds > 0) {
      double& furthest = (m.telling ? telling : holding)[task_of(m)];
      furthest = std::max(furthest, m.holds);
    }
    if (m.fails > 0) {
      const auto [at, is_new] = failing.emplace(task_of(m), m.fails);
      if (!is_new) at->second = std::min(at->second, m.fails);
    }
  }
  std::erase_if(holding, [&](const auto& h) {
    const auto same = telling.find(h.first);
    return same != telling.end() && same->second >= h.second;
  });
  Groups open;
  for (const LengthMeasured& m : rows)
    if (const std::string t = task_of(m);
        !telling.contains(t) && !holding.contains(t) && !failing.contains(t))
      open.add(plain_verdict(m.verdict) + " on *", t);
  const std::string losses =
      failing.size() > most_named ? range_text(failing) : grouped("fails from", failing, 1);
  std::vector<std::string> out = {
      grouped("holds to", telling, -1),
      grouped("holds to", holding, -1, ", where no encoding is shown to fail"), losses,
      open.text("task")};
  std::erase(out, "");
  return join(out, "; ");
}

LengthClaim length_claim(const pes_card& c) {
  return {rating_of(c), extension_of(c)};
}
LengthClaim length_claim(const Json& card) {
  return {card_text(card, "rating"), card_text(card, "extension")};
}

std::string claim_text(const LengthClaim& c) {
  std::vector<std::string> out;
  if (!c.rating.empty()) out.push_back("rated " + c.rating);
  if (!c.extension.empty()) out.push_back("reach " + c.extension);
  return join(out, ", ");
}

std::string disagreement(const LengthClaim& c, const std::vector<LengthMeasured>& rows) {
  double reach = extension_reach(c.extension);
  std::string claimed = "claimed to reach " + (reach <= 1          ? "no longer length"
                                               : std::isinf(reach) ? "any length"
                                                                   : times(reach));
  bool at_least = false;    // to hold further is no disagreement
  if (std::isnan(reach)) {  // a rating alone: good is twice the length, or more
    const int rating = rating_rank(c.rating);
    if (rating < 0) return "";
    at_least = rating >= rating_rank("good");
    reach = at_least ? 2 : 1;
    claimed = "rated " + c.rating.substr(0, c.rating.find(' '));
  }
  const LengthMeasured *early = nullptr, *far = nullptr;
  for (const LengthMeasured& m : rows) {
    if (fails_within(m, reach) && (early == nullptr || m.fails < early->fails)) early = &m;
    if (m.telling && m.holds > reach && !at_least && (far == nullptr || m.holds > far->holds))
      far = &m;
  }
  std::vector<std::string> out;
  if (early != nullptr)
    out.push_back(fmt::format("{}, measured to fail from {} on {} ({})", claimed,
                              times(early->fails), early->task, run_of(*early)));
  if (far != nullptr)
    out.push_back(fmt::format("{}, measured to hold to {} on {} ({})", claimed, times(far->holds),
                              far->task, run_of(*far)));
  return join(out, "; ");
}

}  // namespace pesuite
