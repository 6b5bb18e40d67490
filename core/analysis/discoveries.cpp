#include "analysis/discoveries.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/answer.h"

namespace pesuite {

namespace {

struct Tested {
  std::vector<double> p;
  std::vector<bool> called;

  bool add(double one, bool is_called) {  // whether it was tested
    if (std::isnan(one)) return false;
    p.push_back(one), called.push_back(is_called);
    return true;
  }
};

}  // namespace

Discoveries discoveries(const RunData& run, const std::vector<std::vector<Contest>>& of_tasks,
                        const std::vector<Judged>& judged) {
  Tested all;
  Discoveries out;
  for (const auto& contests : of_tasks) {
    std::set<std::string> protocols;
    for (const Contest& c : contests)
      for (const Duel& d : c.duels)
        if (all.add(d.p, d.verdict == Verdict::first || d.verdict == Verdict::second))
          protocols.insert(c.ground.protocol);
    out.families += protocols.size();
  }
  for (const TaskData& t : run.tasks) {
    bool any = false;
    for (const LengthAnswer& e : answer_of(t).encodings)
      for (const LengthChange& c : e.changes) any |= all.add(c.alone, c.p < significance);
    out.families += any ? 1 : 0;
  }
  bool any = false;
  for (const Judged& j : judged)
    any |= all.add(j.alone, j.judgement == Judgement::holds || j.judgement == Judgement::refuted);
  out.families += any ? 1 : 0;
  const auto adjusted = benjamini_hochberg(all.p);
  out.tests = all.p.size();
  for (std::size_t i = 0; i < all.p.size(); ++i) {
    if (!all.called[i]) continue;
    ++out.called;
    out.kept += adjusted[i] < significance ? 1 : 0;
  }
  return out;
}

}  // namespace pesuite
