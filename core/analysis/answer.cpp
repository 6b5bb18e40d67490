#include "analysis/answer.h"

#include <algorithm>
#include <cmath>

#include "analysis/places.h"

namespace pesuite {

namespace {

// Grounds of the task's own loss under its main protocol, in range and beyond.
std::vector<Ground> own_grounds(const TaskData& t) {
  std::vector<Ground> out;
  for (Ground g : grounds(t)) {
    if (!g.share() && g.protocol != main_protocol(t)) continue;
    if (!g.share()) g.metric = "nll";
    const bool base = g.length == t.train_length && g.trained;
    if (base || (g.length > t.train_length && !g.trained)) out.push_back(g);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Ground& a, const Ground& b) { return a.length < b.length; });
  return out;
}

LengthChange change_of(const Ground& from, const Ground& to, std::size_t encoding) {
  LengthChange out;
  out.length = to.length;
  const auto first = scores(from, encoding), last = scores(to, encoding);
  double sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double d = last[i].value - first[i].value;
    if (std::isnan(d)) continue;
    out.seeds.push_back(to.lower_is_better() ? d : -d);
    sum += out.seeds.back();
  }
  if (!out.seeds.empty()) out.mean = sum / static_cast<double>(out.seeds.size());
  return out;
}

bool any_infinite(const LengthChange& c) {
  return std::any_of(c.seeds.begin(), c.seeds.end(), [](double x) { return std::isinf(x); });
}

// One-sided, whichever side the loss lies on; where a seed is infinite it can only fail.
double p_of(const PairedTest& t, const LengthChange& c, double matters) {
  const double fails = t.p_above(matters);
  return any_infinite(c) ? fails : std::min(fails, t.p_below(matters));
}

// The tests of all encodings at one length. Who fails varies more than who does not, so nothing is
// shared.
std::vector<PairedTest> tests_at(const TaskAnswer& a, std::size_t length) {
  const double matters = a.ground.matters();
  std::vector<Differences> all;
  for (const LengthAnswer& e : a.encodings)
    all.push_back(made_finite(e.changes[length].seeds, matters));
  std::vector<PairedTest> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!a.ground.share()) {
      out.emplace_back(all[i]);
      continue;
    }
    std::vector<Differences> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const LengthAnswer& e = a.encodings[i];
    out.push_back(test_alone(all[i], others, e.start - e.changes[length].mean, e.start - matters));
  }
  return out;
}

void test(TaskAnswer& a) {
  const double matters = a.ground.matters();
  std::vector<std::vector<PairedTest>> tests;
  std::vector<double> p;
  for (std::size_t l = 0; l < a.lengths.size(); ++l) {
    tests.push_back(tests_at(a, l));
    for (std::size_t e = 0; e < a.encodings.size(); ++e)
      p.push_back(a.encodings[e].learned == Learned::no
                      ? Number::none
                      : p_of(tests[l][e], a.encodings[e].changes[l], matters));
  }
  // Of the two hypotheses at a length, loss below and above what matters, one is true: no further
  // correction for asking both.
  const auto adjusted = holm(p);
  const double level = holm_level(p, significance);
  std::size_t at = 0;
  for (std::size_t l = 0; l < a.lengths.size(); ++l)
    for (std::size_t e = 0; e < a.encodings.size(); ++e) {
      LengthAnswer& one = a.encodings[e];
      one.changes[l].alone = p[at];
      const double found = one.changes[l].p = adjusted[at++];
      if (found < significance || std::isnan(found)) continue;
      one.needed = std::max(one.needed, tests[l][e].seeds_needed(matters, 2 * level));
    }
}

void decide(LengthAnswer& e, double matters) {
  e.within = true;
  bool tested = false, unbroken = true;
  for (const LengthChange& c : e.changes) {
    e.within &= std::all_of(c.seeds.begin(), c.seeds.end(), [&](double x) { return x < matters; });
    tested |= !std::isnan(c.p);
    const bool shown = c.p < significance;
    if (shown && c.mean >= matters && e.verdict != LengthVerdict::fails)
      e.verdict = LengthVerdict::fails, e.length = c.length;
    unbroken &= shown;
    if (unbroken && e.verdict != LengthVerdict::fails)
      e.verdict = LengthVerdict::holds, e.length = c.length;
  }
  if (e.length == 0) e.verdict = tested ? LengthVerdict::undecided : LengthVerdict::untested;
  if (e.learned == Learned::no) e.verdict = LengthVerdict::inapplicable;
}

bool chance_everywhere(const TaskAnswer& a) {
  bool any = false;
  for (const Setting& s : a.task->settings)
    if (s.length == a.ground.length && !s.trained)
      for (const LengthAnswer& e : a.encodings) {
        if (at_chance(*a.task, e.encoding, score_place(*a.task, {&s, a.ground.bucket, ""})) !=
            AtChance::all)
          return false;
        any = true;
      }
  return any;
}

}  // namespace

TaskAnswer answer_of(const TaskData& t) {
  TaskAnswer a;
  a.task = &t;
  const std::vector<Ground> all = own_grounds(t);
  if (all.size() < 2 || all[0].length != t.train_length) return a;
  a.ground = all.back();
  for (std::size_t i = 1; i < all.size(); ++i) a.lengths.push_back(all[i].length);
  for (const std::size_t e : t.encodings) {
    LengthAnswer one;
    one.encoding = e;
    for (std::size_t i = 1; i < all.size(); ++i)
      if (LengthChange c = change_of(all[0], all[i], e); !c.seeds.empty())
        one.changes.push_back(std::move(c));
    if (one.changes.size() != a.lengths.size()) continue;  // the failures say why
    one.learned = learned(t, e);
    one.start = summarize(scores(all[0], e)).mean, one.end = summarize(scores(a.ground, e)).mean;
    a.encodings.push_back(std::move(one));
  }
  test(a);
  for (LengthAnswer& e : a.encodings) decide(e, a.ground.matters());
  const auto order = [&](const LengthAnswer& e) {
    if (e.verdict == LengthVerdict::inapplicable)  // little to lose: what is left of it counts
      return std::tuple(3, false, 0, a.ground.lower_is_better() ? e.end : -e.end);
    const bool fails = e.verdict == LengthVerdict::fails;
    const int group = e.verdict == LengthVerdict::holds ? 0 : fails ? 2 : 1;
    return std::tuple(group, !e.within, group == 0 ? -e.length : 0, e.loss());
  };
  std::stable_sort(a.encodings.begin(), a.encodings.end(),
                   [&](const auto& x, const auto& y) { return order(x) < order(y); });
  a.at_chance = chance_everywhere(a);
  return a;
}

}  // namespace pesuite
