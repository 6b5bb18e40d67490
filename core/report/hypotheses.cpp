#include "report/hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/findings.h"

namespace pesuite {

namespace {

std::string value_text(double x) {
  if (std::isinf(x)) return x > 0 ? "∞" : "-∞";
  if (std::isnan(x)) return "?";
  const double size = std::abs(x);
  if (size != 0 && (size >= 1e6 || size < 1e-4)) return fmt::format("{:.3g}", x);
  return format_fixed(x, size < 10 ? 4 : size < 1000 ? 2 : 0);
}

// "0.312 against 1.522: difference -1.210 [-1.5, -0.9], p = 0.002, paired t, 3 seeds"
Text evidence_text(const Evidence& e) {
  if (e.seeds.empty())
    return rich("{}: no seed has both sides{}", code(e.text),
                e.missing.empty() ? "" : " (" + e.missing[0] + ")");
  Text out = rich("{}: {} against {}, difference {}", code(e.text), value_text(e.left_mean),
                  value_text(e.right_mean), value_text(e.difference));
  if (!std::isnan(e.low)) out += fmt::format(" [{}, {}]", value_text(e.low), value_text(e.high));
  if (!std::isnan(e.bound))  // of a one-sided test, what it tested
    out += fmt::format(", {} {} at {:.4g} % (tested: {} {})", e.from_above ? "at most" : "at least",
                       value_text(e.bound), 100 * (1 - e.alpha), e.from_above ? "below" : "above",
                       value_text(e.against));
  out += fmt::format("; {}", counted(e.seeds.size(), "seed"));
  if (e.test.starts_with("none")) return out + Text(", no test");
  out += fmt::format(", {}, {}", e.test,
                     e.satisfied ? p_text(e.p_holds, e.seeds.size())
                                 : "against it " + p_text(e.p_refuted, e.seeds.size()));
  return out;
}

std::string why_undecided(const Judged& j) {
  std::size_t needed = 0, seeds = 0;
  for (const Evidence& e : j.evidence) {
    if (e.seeds.empty()) return "a value is missing";
    needed = std::max(needed, e.needed), seeds = std::max(seeds, e.seeds.size());
  }
  if (needed > seeds) return fmt::format("{} for 80 % power", counted(needed, "seed"));
  if (j.alone < j.hypothesis.alpha)  // Holm's correction makes the difference
    return fmt::format("{}{} alone, {} among the suite's claims",
                       j.p_refuted < j.p_holds ? "against it " : "", p_text(j.alone, seeds),
                       p_text(std::min(j.p_holds, j.p_refuted), seeds));
  return "the seeds do not tell";
}

std::string why_untested(const Judged& j) {
  constexpr std::string_view none = "none, ";
  for (const Evidence& e : j.evidence)
    if (e.test.starts_with(none)) return e.test.substr(none.size());
  return "nothing to test";
}

}  // namespace

std::string verdict_text(const Judged& j) {
  std::size_t fewest = 20;  // seeds
  for (const Evidence& e : j.evidence) fewest = std::min(fewest, e.seeds.size());
  const std::string_view name = judgement_name(j.judgement);
  switch (j.judgement) {
    case Judgement::undecided: return fmt::format("{} ({})", name, why_undecided(j));
    case Judgement::untested: return fmt::format("{} ({})", name, why_untested(j));
    case Judgement::inapplicable:
      return fmt::format("{} ({})", name, j.by_swap ? "lost by the swap" : "not learned");
    default: break;
  }
  return fmt::format("{}, {}", name,
                     p_text(j.judgement == Judgement::holds ? j.p_holds : j.p_refuted, fewest));
}

namespace {

Json number_or_null(double x) {
  return std::isfinite(x) ? Json(x) : Json(nullptr);
}

Json numbers(const std::vector<double>& all) {  // infinities as text, as JSON has none
  Json out = Json::array();
  for (const double x : all)
    out.push_back(std::isfinite(x) ? Json(x) : Json(x > 0 ? "inf" : "-inf"));
  return out;
}

}  // namespace

std::vector<Text> hypothesis_lines(const std::vector<Judged>& all) {
  std::vector<Text> out;
  for (const Judged& j : all) {
    const Hypothesis& h = j.hypothesis;
    Text line = rich("{} {}: ", strong(h.id), verdict_text(j));
    line += h.says.empty() ? Text(code(h.expect)) : Text(h.says);
    if (!h.source.empty()) line += rich(" ({})", h.source);
    if (!h.planned) line += rich("; {}", emphasis("not planned: made up after the run"));
    line += ".";
    for (const Evidence& e : j.evidence) line += rich(" {}.", evidence_text(e));
    for (const std::string& n : j.notes) line += rich(" {}", emphasis("But " + n + "."));
    out.push_back(std::move(line));
  }
  return out;
}

TableFile hypotheses_table(const std::vector<Judged>& all) {
  TableFile out{
      "hypotheses",
      {},
      {{"id", "verdict", "p_holds", "p_refuted", "alpha", "comparison", "left", "right",
        "difference", "low", "high", "margin", "test", "seeds", "seeds_needed", "source", "says"}}};
  Table b{"", "", {{"hypothesis", "verdict", "evidence"}}, 3};
  for (const Judged& j : all) {
    const Hypothesis& h = j.hypothesis;
    std::vector<Text> evidence;
    for (const Evidence& e : j.evidence) {
      evidence.push_back(evidence_text(e));
      out.csv.push_back({h.id, std::string(judgement_name(j.judgement)), csv_number(j.p_holds),
                         csv_number(j.p_refuted), csv_number(h.alpha), e.text,
                         csv_number(e.left_mean), csv_number(e.right_mean),
                         csv_number(e.difference), csv_number(e.low), csv_number(e.high),
                         csv_number(e.margin), e.test, std::to_string(e.seeds.size()),
                         std::to_string(e.needed), h.source, h.says});
    }
    for (const std::string& n : j.notes) evidence.emplace_back(emphasis(n));
    Text claim = rich("{} {}{}", strong(h.id), h.says.empty() ? "" : h.says + " ", code(h.expect));
    if (!h.source.empty()) claim += rich(" ({})", h.source);
    if (!h.planned) claim += rich(" {}", emphasis("not planned: made up after the run"));
    b.rows.push_back({claim, verdict_text(j), join(evidence, "; ")});
  }
  b.caption = rich(
      "{}: shown at the level, with at least the effect that matters; {}: the opposite is shown, "
      "or "
      "that the effect is smaller than what matters; else {}. {}: an encoding in it did not learn "
      "the task. {}: too few seeds, or seeds that do not differ. One-sided paired t over seeds; "
      "the "
      "p of verdicts after Holm over all hypotheses.",
      emphasis("reproduced at this size"), emphasis("not reproduced at this size"),
      emphasis("undecided"), emphasis("not applicable"), emphasis("not tested"));
  if (b.rows.size() > 1) out.blocks.push_back(std::move(b));
  return out;
}

Json to_json(const RunData& run, const std::vector<Judged>& all) {
  Json out = {{"schema", "pesuite.hypotheses/1"}, {"suite", run.suite}};
  out["hypotheses"] = Json::array();
  for (const Judged& j : all) {
    const Hypothesis& h = j.hypothesis;
    Json one = {{"id", h.id},
                {"says", h.says},
                {"source", h.source},
                {"expect", h.expect},
                {"planned", h.planned},
                {"alpha", h.alpha},
                {"verdict", std::string(judgement_name(j.judgement))},
                {"p_holds", j.p_holds},
                {"p_refuted", j.p_refuted},
                {"notes", j.notes}};
    one["evidence"] = Json::array();
    for (const Evidence& e : j.evidence)
      one["evidence"].push_back({{"comparison", e.text},
                                 {"seeds", e.seeds},
                                 {"left", numbers(e.left)},
                                 {"right", numbers(e.right)},
                                 {"difference", number_or_null(e.difference)},
                                 {"low", number_or_null(e.low)},
                                 {"high", number_or_null(e.high)},
                                 {"margin", e.margin},
                                 {"against", number_or_null(e.against)},
                                 {"bound", number_or_null(e.bound)},
                                 {"satisfied", e.satisfied},
                                 {"p_holds", e.p_holds},
                                 {"p_refuted", e.p_refuted},
                                 {"test", e.test},
                                 {"seeds_needed", e.needed},
                                 {"missing", e.missing}});
    out["hypotheses"].push_back(std::move(one));
  }
  return out;
}

}  // namespace pesuite
