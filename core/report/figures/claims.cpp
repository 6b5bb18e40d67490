// The claims as a forest: what was measured of each part against its bound.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "model/metrics.h"
#include "report/figures.h"
#include "report/lines.h"
#include "report/tables.h"

namespace pesuite {

namespace {

// What a side of a comparison is made of.
struct SideOfClaim {
  bool constant = true;
  bool scaled = false;      // by arithmetic after which the unit is another
  bool difference = false;  // of two quantities
  std::set<std::string> metrics = {};

  void collect(const Term& t) {
    using enum Term::Kind;
    bool constants = false;  // among the parts
    for (const Term& p : t.parts) {
      SideOfClaim part;
      part.collect(p);
      constants |= part.constant;
      constant &= part.constant, scaled |= part.scaled, difference |= part.difference;
      metrics.insert(part.metrics.begin(), part.metrics.end());
    }
    if (t.kind == quantity) constant = false, metrics.insert(t.quantity.metric);
    scaled |=
        t.kind == multiply || t.kind == divide || t.kind == logarithm || t.kind == exponential;
    difference |= t.kind == subtract && !constants;
  }
};

// A part of a claim in the units of what it compares, and where that stands in its row: the bound
// in the middle, what the claim says to the right of it, the farthest end at the edge.
struct ClaimRow {
  const Judged& claim;
  const Comparison& comparison;
  const Evidence& evidence;
  SideOfClaim left = {}, right = {};

  ClaimRow(const Judged& j, std::size_t part)
      : claim(j), comparison(j.hypothesis.comparisons[part]), evidence(j.evidence[part]) {
    left.collect(comparison.left), right.collect(comparison.right);
  }

  bool drawn() const { return std::isfinite(evidence.difference); }
  bool has_interval() const { return drawn() && std::isfinite(evidence.low); }
  bool equality() const { return comparison.relation == Comparison::Relation::equal; }
  // The difference that divides what is claimed from what is not.
  double bound() const {
    if (equality()) return evidence.difference > 0 ? evidence.margin : -evidence.margin;
    return std::isfinite(evidence.against) ? evidence.against : 0;
  }
  bool claimed_below() const {
    using enum Comparison::Relation;
    if (equality()) return evidence.difference > 0;
    return comparison.relation == less || comparison.relation == less_equal;
  }
  double towards_claim(double difference) const {
    return (claimed_below() ? -1 : 1) * (difference - bound());
  }
  double reach() const {
    double most = std::abs(towards_claim(evidence.difference));
    if (has_interval())
      for (const double end : {evidence.low, evidence.high})
        most = std::max(most, std::abs(towards_claim(end)));
    if (equality()) most = std::max(most, 2 * evidence.margin);
    return most > 0 ? most : 1;
  }
  double place(double difference) const { return towards_claim(difference) / reach(); }

  // The value that is compared with a constant, else the difference of both sides.
  double shown(double difference) const {
    if (right.constant) return evidence.right_mean + difference;
    return left.constant ? evidence.left_mean - difference : difference;
  }
  bool is_difference() const {
    return (!left.constant && !right.constant) || left.difference || right.difference;
  }
  std::string unit() const {
    std::set<std::string> metrics = left.metrics;
    metrics.insert(right.metrics.begin(), right.metrics.end());
    if (left.scaled || right.scaled || metrics.size() != 1) return "";
    switch (metric(*metrics.begin()).written) {
      case Metric::Written::nats: return "nats";
      case Metric::Written::share: return is_difference() ? "points" : "%";
      case Metric::Written::perplexity:
      case Metric::Written::number: break;
    }
    return "";
  }
  // Digits stop where the interval makes them worthless.
  std::string written(double x, const std::string& u) const {
    if (u == "%") return percent_text(x);
    const double scale = u == "points" ? 100 : 1;
    const double size = std::max(std::abs(x), reach()) * scale;
    std::string digits = format_fixed(x * scale, size < 0.1    ? 3
                                                 : size < 10   ? 2
                                                 : size < 1000 ? 1
                                                               : 0);
    if (digits.find_first_not_of("-0.") == std::string::npos) digits = "0";
    if (is_difference() && digits != "0" && x > 0) digits.insert(0, 1, '+');
    return digits;
  }
  std::string numbers() const {
    if (evidence.seeds.empty()) return "no value";
    if (!drawn()) return "not finite";
    const std::string u = unit();
    return fmt::format("{}, bound {}{}{}", written(shown(evidence.difference), u),
                       written(shown(bound()), u), u.empty() ? "" : " ", u);
  }
};

constexpr std::array claim_colours = {
    std::pair{Judgement::holds, "#009E73"}, std::pair{Judgement::refuted, "#D55E00"},
    std::pair{Judgement::undecided, "#4F5D6B"}, std::pair{Judgement::inapplicable, "#9C9C9C"},
    std::pair{Judgement::untested, "#9C9C9C"}};

std::vector<ClaimRow> claim_rows(const std::vector<Judged>& all) {
  std::vector<ClaimRow> out;
  for (const Judged& j : all)
    for (std::size_t i = 0; i < j.evidence.size() && i < j.hypothesis.comparisons.size(); ++i)
      out.emplace_back(j, i);
  return out;
}

// Where a line may end before an operator that stands in no parentheses.
std::vector<std::size_t> places_to_break(const std::string& text) {
  std::vector<std::size_t> out;
  int depth = 0;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text[i] == ' ' && text[i + 2] == ' ' &&
        std::string_view("+-*/").find(text[i + 1]) != std::string_view::npos)
      out.push_back(i);
  }
  return out;
}

// The comparison in one line, or in two where one would be too long: before the relation, or where
// a side does not fit even so, before the operator that leaves the longer line shortest.
std::pair<std::string, std::string> claim_label(const Comparison& c) {
  constexpr std::size_t most_letters = 56;
  const std::string text = c.text();
  if (display_width(text) <= most_letters) return {text, ""};
  const auto split = [&](std::size_t at) {
    return std::pair{text.substr(0, at), text.substr(at + 1)};
  };
  const auto longest = [](const auto& lines) {
    return std::max(display_width(lines.first), display_width(lines.second));
  };
  auto best = split(c.left.text.size());
  if (longest(best) > most_letters)
    for (const std::size_t at : places_to_break(text))
      if (const auto lines = split(at); longest(lines) < longest(best)) best = lines;
  return {shorten(best.first, most_letters), shorten(best.second, most_letters)};
}

// Names at the left, numbers and verdicts at the right, and rules between claims.
void name_claims(Figure& f, const std::vector<ClaimRow>& rows) {
  constexpr double letter = 8.3, digit = 8.8, short_line = 25, long_line = 42;  // pixels
  std::vector<std::string> ids, upper, lower, numbers, verdicts;
  std::vector<double> colours, rules;
  std::size_t longest = 8, id_width = 2, widest = 8;
  bool two_lines = false;
  const Judged* last = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClaimRow& r = rows[i];
    const bool first = &r.claim != last;
    if (first && i > 0) rules.push_back(static_cast<double>(rows.size() - i) + 0.5);
    last = &r.claim;
    ids.push_back(first ? shorten(r.claim.hypothesis.id, 16) : "");
    id_width = std::max(id_width, display_width(ids.back()));
    const auto [one, two] = claim_label(r.comparison);
    two_lines |= !two.empty();
    upper.push_back(one), lower.push_back(two);
    longest = std::max({longest, display_width(one), display_width(two)});
    numbers.push_back(r.numbers());
    widest = std::max(widest, display_width(numbers.back()));
    verdicts.emplace_back(first ? judgement_name(r.claim.judgement) : "");
    for (std::size_t c = 0; c < claim_colours.size(); ++c)
      if (claim_colours[c].first == r.claim.judgement)
        colours.push_back(static_cast<double>(c + 1));
  }
  const double numbers_width = 20 + digit * static_cast<double>(widest);
  f.values = {
      {"left", 46 + digit * static_cast<double>(id_width) + letter * static_cast<double>(longest)},
      {"panel_width", 250.0},
      {"panel_height", (two_lines ? long_line : short_line) * static_cast<double>(rows.size())},
      {"verdict_at", numbers_width},
      {"legend_width", numbers_width + 26 * letter},
      {"legend_height", 0.0},
      {"rows", static_cast<double>(rows.size())},
      {"claim", ids},
      {"upper", upper},
      {"lower", lower},
      {"numbers", numbers},
      {"verdict", verdicts},
      {"colour", colours},
      {"rules", static_cast<double>(rules.size())},
      {"rule", rules}};
}

std::vector<Figure> draw_claims(const std::vector<Judged>& all) {
  const std::vector<ClaimRow> rows = claim_rows(all);
  if (std::none_of(rows.begin(), rows.end(), [](const ClaimRow& r) { return r.has_interval(); }))
    return {};
  Figure f;
  f.name = "claims", f.kind = "claims", f.title = "claims against their bounds";
  const bool usual = std::all_of(
      rows.begin(), rows.end(), [](const ClaimRow& r) { return r.evidence.alpha == significance; });
  f.caption = fmt::format(
      "A row is a part of a claim, to a scale of its own. The line in the middle is the bound of "
      "its test; right of it lies what the claim says. Dot: mean over seeds. Thin line: 95 % "
      "interval. Thick line: {}. Hollow: not tested. Verdicts hold for a claim as a whole.",
      usual ? "90 % interval, whose end is the one-sided 95 % bound of the test"
            : "it ends at the one-sided bound of the test, at the claim's own level");
  f.rows = {{"row", "claim", "comparison", "verdict", "kind", "unit", "x", "low", "high",
             "thick_low", "thick_high", "estimate", "estimate_low", "estimate_high", "bound"}};
  for (const auto& [judgement, colour] : claim_colours) {
    const std::string name(judgement_name(judgement));
    f.series.push_back({name, name, {colour, 7, "1"}});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClaimRow& r = rows[i];
    if (!r.drawn()) continue;
    const Evidence& e = r.evidence;
    const auto add = [&](const char* kind, double x, double low, double high, double other) {
      f.rows.push_back({std::to_string(rows.size() - i), r.claim.hypothesis.id, r.comparison.text(),
                        std::string(judgement_name(r.claim.judgement)), kind, r.unit(),
                        csv_number(x), csv_number(low), csv_number(high),
                        csv_number(std::min(other, 2 * x - other)),
                        csv_number(std::max(other, 2 * x - other)),
                        csv_number(r.shown(e.difference)), csv_number(r.shown(e.low)),
                        csv_number(r.shown(e.high)), csv_number(r.shown(r.bound()))});
    };
    if (r.has_interval()) {
      const double a = r.place(e.low), b = r.place(e.high);
      // The interval is even about its mean, so that the tested end says where the other one is.
      add("part", r.place(e.difference), std::min(a, b), std::max(a, b), r.place(e.bound));
    } else {
      add("untested", r.place(e.difference), Number::none, Number::none, Number::none);
    }
    if (r.equality() && e.margin > 0)  // as far on the other side
      add("bound", r.place(-r.bound()), Number::none, Number::none, Number::none);
  }
  name_claims(f, rows);
  return {f};
}

}  // namespace

std::vector<FigureKind> claims_figures() {
  return {{FigureSection::claims, 0, [](const FigureContext& c) {
             return c.claims == nullptr ? std::vector<Figure>() : draw_claims(*c.claims);
           }}};
}

}  // namespace pesuite
