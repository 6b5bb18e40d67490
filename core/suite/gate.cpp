#include "suite/gate.h"

#include <algorithm>
#include <cmath>

#include "model/metrics.h"

namespace pesuite {

namespace {

constexpr const char* usual_scope = "eval_len<=4*train_len";
constexpr double usual_nats = 0.01, usual_share = 0.02;

double usual_margin(const Metric& m) {
  return m.written == Metric::Written::nats ? usual_nats : usual_share;
}

}  // namespace

bool GateScope::holds(int of, int train_length) const {
  if (multiple > 0) return of <= multiple * train_length;
  return length <= 0 || of <= length;
}

GateScope parse_gate_scope(const std::string& text) {
  GateScope s;
  s.text = text;
  const std::string all = trim(text);
  if (all.empty() || all == "all") return s;
  const std::size_t at = all.find("<=");
  const auto refuse = [&] {
    fail(Exit::usage,
         "'{}' is no scope; write \"eval_len<=4*train_len\", \"eval_len<=512\" or \"all\"", text);
  };
  if (at == std::string::npos || trim(all.substr(0, at)) != "eval_len") refuse();
  std::string right = trim(all.substr(at + 2));
  double x = 1;
  if (const std::size_t star = right.find('*'); star != std::string::npos) {
    if (!parse_count(trim(right.substr(0, star)), x) || x <= 0) refuse();
    right = trim(right.substr(star + 1));
    if (right != "train_len") refuse();
  }
  if (right == "train_len")
    s.multiple = x;
  else if (!parse_count(right, s.length) || s.length <= 0)
    refuse();
  return s;
}

double parse_margin(const std::string& text, const std::string& of) {
  const Metric& m = metric(of);
  const std::string all = trim(text);
  const std::size_t blank = all.find(' ');
  const std::string unit = blank == std::string::npos ? "" : trim(all.substr(blank));
  double x = 0;
  if (!parse_count(all.substr(0, blank), x) || x < 0 || !std::isfinite(x))
    fail(Exit::usage, "'{}' is no margin; write e.g. \"0.01 nats\", \"2 points\" or 0.02", text);
  if (unit.empty()) return x;
  if (unit == "nats" && m.written == Metric::Written::nats) return x;
  if (unit == "points" && m.written == Metric::Written::share) return x / 100;
  fail(Exit::usage, "'{}' is no margin of '{}', which is measured in {}", text, of,
       m.written == Metric::Written::nats    ? "nats"
       : m.written == Metric::Written::share ? "shares (\"2 points\" are 0.02)"
                                             : "plain numbers");
}

bool GateRule::covers(const Coordinates& c, const std::string& of, int length,
                      int train_length) const {
  return of == metric && scope.holds(length, train_length) &&
         (where.empty() || Filter(where, Filter::Of::series).matches(c));
}

std::string gate_text(const GateRule& g) {
  std::string out = g.metric;
  if (!g.where.empty()) out += " where " + g.where;
  out += fmt::format(", margin {}", format_number(g.margin));
  if (!g.scope.text.empty()) out += ", " + g.scope.text;
  return out;
}

Json to_json(const GateRule& g) {
  return {{"metric", g.metric},
          {"where", g.where},
          {"margin", g.margin},
          {"alpha", g.alpha},
          {"direction", g.lower ? "lower" : "higher"},
          {"test", g.one_by_one ? "mcnemar" : "paired"},
          {"scope", g.scope.text}};
}

GateRule gate_from_json(const Json& j) {
  GateRule g;
  g.metric = j.at("metric");
  metric(g.metric);
  g.where = j.at("where");
  if (!g.where.empty()) Filter(g.where, Filter::Of::series);
  g.margin = j.at("margin");
  g.alpha = j.at("alpha");
  g.lower = j.at("direction") == "lower";
  g.one_by_one = j.at("test") == "mcnemar";
  g.scope = parse_gate_scope(j.at("scope"));
  return g;
}

namespace {

GateRule read_gate(Reader& r) {
  GateRule g;
  g.metric = r.text("metric", "nll");
  const Metric& m = metric(g.metric);
  if (m.better == Metric::Better::neither)
    fail(Exit::usage, "'{}' is neither better nor worse where it changes; gate e.g. nll or em",
         g.metric);
  g.where = r.text("where", "");
  if (!g.where.empty()) Filter(g.where, Filter::Of::series);
  g.margin = usual_margin(m);
  if (const Json* margin = r.find("margin"); margin == nullptr)
    r.note_default("margin", g.margin);
  else if (margin->is_number() && *margin >= 0 && std::isfinite(margin->get<double>()))
    g.margin = *margin;
  else if (margin->is_string())
    g.margin = parse_margin(*margin, g.metric);
  else
    r.problem("margin", "must be a number from 0 on, or a text such as \"0.01 nats\"");
  g.alpha = r.number("alpha", g.alpha, 1e-6, 0.5);
  g.lower =
      r.choice("direction", {"lower", "higher"}, m.better == Metric::Better::higher ? 1 : 0) == 0;
  g.one_by_one = r.choice("test", {"paired", "mcnemar"}, m.bounded ? 1 : 0) == 1;
  g.scope = parse_gate_scope(r.text("scope", usual_scope));
  return g;
}

}  // namespace

std::vector<GateRule> read_gates(Reader& suite) {
  std::vector<GateRule> out;
  suite.tables("gate", [&](Reader& r, const std::string&) {
    try {
      out.push_back(read_gate(r));
    } catch (const Error& e) {
      r.problem("metric", fmt::format("and what stands beside it: {}", e.what()));
    }
  });
  return out;
}

std::vector<GateRule> usual_gates() {
  std::vector<GateRule> out;
  for (const char* name : {"nll", "em", "acc"}) {
    const Metric& m = metric(name);
    GateRule g;
    g.metric = name;
    g.margin = usual_margin(m);
    g.lower = m.better == Metric::Better::lower;
    g.one_by_one = m.bounded;
    g.scope = parse_gate_scope(usual_scope);
    out.push_back(g);
  }
  return out;
}

}  // namespace pesuite
