#include "report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/answer.h"
#include "base/text.h"
#include "model/metrics.h"
#include "report/text.h"

namespace pesuite {

namespace {

// Digits of differences stop where they stop to matter.
std::string amount(const Ground& g, double x) {
  if (std::isinf(x)) return "∞";
  if (g.share()) return format_fixed(100 * x, 0);
  return format_fixed(x, 2);
}
const char* unit(const Ground& g) {
  return g.share() ? "points" : "nats";
}
std::string level(const Ground& g, double x) {
  return g.share() ? percent_text(x) + " %" : format_fixed(x, 2) + " nats";
}

}  // namespace

std::string change_text(const Ground& g, double loss) {
  const double x = g.lower_is_better() ? loss : -loss;
  std::string out = amount(g, x);
  if (out.find_first_of("123456789∞") == std::string::npos) return amount(g, 0);
  return x > 0 ? "+" + out : out;
}

namespace {

struct Writer {
  const RunData& run;
  const TaskAnswer& a;
  const Ground& g = a.ground;

  Span name(const LengthAnswer& e) const { return code(run.encodings[e.encoding]); }
  std::string multiple(int length) const { return a.task->multiple(length); }
  std::string measure() const { return g.share() ? std::string(metric(g.metric).heading) : "loss"; }
  std::string where() const {
    return run.several_models() ? a.task->task + ", model " + a.task->model : a.task->task;
  }
  std::string seeds() const {
    const std::size_t n = a.encodings[0].changes[0].seeds.size();
    return n == 1 ? "one seed" : fmt::format("{} seeds", n);
  }

  bool nobody_learned() const {
    return std::all_of(a.encodings.begin(), a.encodings.end(),
                       [](const LengthAnswer& e) { return e.learned == Learned::no; });
  }
  Text unlearned() const {
    return rich(
        "On {}, no encoding learned the task at the training length ({}; wanted: {}). What happens "
        "beyond it answers nothing.",
        where(), nearest(), learned_criterion(*a.task));
  }
  // "the nearest is rope, 21 % from the optimum"
  Text nearest() const {
    const Ground start = start_ground(a);
    const auto mean = [&](const LengthAnswer& e) {
      return summarize(scores(start, e.encoding)).mean * (start.lower_is_better() ? 1 : -1);
    };
    const auto first = std::min_element(
        a.encodings.begin(), a.encodings.end(),
        [&](const LengthAnswer& x, const LengthAnswer& y) { return mean(x) < mean(y); });
    return rich("the nearest is {}, {}", name(*first), learned_distance(*a.task, first->encoding));
  }

  bool shown_to_keep(const LengthAnswer& e) const {
    return e.verdict == LengthVerdict::holds && e.length == a.lengths.back();
  }
  std::string inside() const { return fmt::format("{:g} {}", g.share() ? 5 : 0.02, unit(g)); }

  // Who stays where it was, by its verdict or by what was measured.
  Text keepers() const {
    std::vector<const LengthAnswer*> shown, seen;
    for (const LengthAnswer& e : a.encodings) {
      if (shown_to_keep(e))
        shown.push_back(&e);
      else if (e.within)
        seen.push_back(&e);
    }
    const std::string far = multiple(a.lengths.back());
    if (shown.empty() && seen.empty())
      return rich("On {}, no encoding kept its {} within {} to {}{} ({}).{}", where(), measure(),
                  inside(), far, a.encodings[0].changes[0].seeds.size() > 1 ? " in every seed" : "",
                  seeds(), furthest());
    Text out;
    for (const auto* group : {&shown, &seen}) {
      if (group->empty()) continue;
      const std::string tested = group == &shown ? "shown" : "measured, not shown";
      const bool only = group->size() == 1 && shown.size() + seen.size() == 1;
      if (!out.empty()) out += " ";
      out += rich("On {}, {} kept {} {} within {} to {} ({}; {}).", where(), who(*group, only),
                  group->size() == 1 ? "its" : "their", measure(), inside(), far, seeds(), tested);
    }
    return out;
  }

  // Who is shown to keep it part of the way.
  Text furthest() const {
    int length = 0;
    for (const LengthAnswer& e : a.encodings)
      if (e.verdict == LengthVerdict::holds) length = std::max(length, e.length);
    std::vector<const LengthAnswer*> group;
    for (const LengthAnswer& e : a.encodings)
      if (e.verdict == LengthVerdict::holds && e.length == length) group.push_back(&e);
    if (group.empty()) return {};
    return rich(" Shown to keep it to {}: {}.", multiple(length), who(group, false));
  }

  Text who(const std::vector<const LengthAnswer*>& group, bool only) const {
    if (group.size() == a.encodings.size() && group.size() > 1)
      return fmt::format("all {} encodings", group.size());
    std::vector<Text> names;
    for (const LengthAnswer* e : group)
      names.push_back(name(*e) + Text(e->learned != Learned::no ? ""
                                      : lost_by_swap(*a.task, e->encoding)
                                          ? " (" + learned_distance(*a.task, e->encoding) + ")"
                                          : " (not learned)"));
    if (group.size() > 4) return share_of_all(names);
    return Text(only && a.encodings.size() > 1 ? "only " : "") + join_and(names);
  }

  // "7 of 27 encodings (names)", which a reader takes home, or without them where they are many.
  Text share_of_all(const std::vector<Text>& names) const {
    constexpr std::size_t most_named = 10;
    const std::string share = fmt::format("{} of {} encodings", names.size(), a.encodings.size());
    if (names.size() > most_named) return share;
    return rich("{} ({})", share, join_and(names));
  }

  // How much those of the others lose that learned the task.
  Text losers() const {
    std::vector<const LengthAnswer*> all;
    std::vector<Text> unlearned, behind;  // by training, by what is swapped in for evaluation
    for (const LengthAnswer& e : a.encodings) {
      if (e.within || shown_to_keep(e)) continue;
      if (e.learned != Learned::no)
        all.push_back(&e);
      else
        (lost_by_swap(*a.task, e.encoding) ? behind : unlearned).push_back(name(e));
    }
    Text out = range_of_losses(all, unlearned.size() + behind.size());
    const bool against_best = !a.task->problem && !a.task->has("optimum");
    for (const auto& [names, says] :
         {std::pair(&unlearned, against_best ? "{} stayed too far behind the best at the training "
                                               "length (wanted: within 5 % in 80 % of the seeds)."
                                             : "{} did not learn the task."),
          std::pair(&behind, "By what is swapped in, {} lost the task at the training length.")})
      if (!names->empty())
        out += (out.empty() ? Text() : Text(" ")) +
               rich(says, names->size() > 2 ? share_of_all(*names) : join_and(*names));
    return out;
  }
  Text range_of_losses(const std::vector<const LengthAnswer*>& all, std::size_t unlearned) const {
    if (all.empty()) return {};
    const auto less = [](const LengthAnswer* x, const LengthAnswer* y) {
      return x->loss() < y->loss();
    };
    const LengthAnswer* least = *std::min_element(all.begin(), all.end(), less);
    const LengthAnswer* most = *std::max_element(all.begin(), all.end(), less);
    const std::string far = multiple(a.lengths.back());
    if (all.size() == 1)
      return rich("{} changed by {} {} at {}.", name(*least), change_text(g, least->loss()),
                  unit(g), far);
    const bool everybody = all.size() == a.encodings.size();
    const bool nobody_keeps = all.size() + unlearned == a.encodings.size();
    const std::string how_many =
        everybody && all.size() == 2
            ? "Both"
            : fmt::format("{} {}{}",
                          everybody      ? "All"
                          : nobody_keeps ? "The"
                                         : "The other",
                          all.size(), unlearned > 0 ? " that learned it" : "");
    return rich("{} changed by {} ({}) to {} {} ({}) at {}.", how_many,
                change_text(g, least->loss()), name(*least), change_text(g, most->loss()), unit(g),
                name(*most), far);
  }

  // Who is best at the longest length, whatever the gate says, and whether it was ranked.
  Text best() const {
    if (a.encodings.size() < 2) return {};
    const std::string far = multiple(a.lengths.back());
    if (a.at_chance) return fmt::format("At {} every encoding is at chance.", far);
    std::vector<const LengthAnswer*> all;
    for (const LengthAnswer& e : a.encodings) all.push_back(&e);
    std::stable_sort(all.begin(), all.end(), [&](const auto* x, const auto* y) {
      return g.lower_is_better() ? x->end < y->end : x->end > y->end;
    });
    const auto close = std::count_if(all.begin(), all.end(), [&](const LengthAnswer* e) {
      return std::abs(e->end - all[0]->end) < g.matters();
    });
    if (close == 2)
      return rich("At {} {} and {} are ahead, less than {} apart.", far, name(*all[0]),
                  name(*all[1]), inside());
    if (close > 2)
      return rich("At {} {} of {} encodings are within {} of the best, {}.", far, close, all.size(),
                  inside(), name(*all[0]));
    Text out = rich("At {} {} is best with {}; {} has {}.", far, name(*all[0]),
                    level(g, all[0]->end), name(*all[1]), level(g, all[1]->end));
    if (all[0]->learned == Learned::no)
      out += rich(" {} is left out of the ranks: not learned at the training length ({}).",
                  name(*all[0]), learned_distance(*a.task, all[0]->encoding));
    return out;
  }
};

std::vector<TaskAnswer> answers(const RunData& run) {
  std::vector<TaskAnswer> out;
  for (const TaskData& t : run.tasks)
    if (TaskAnswer a = answer_of(t); !a.encodings.empty()) out.push_back(std::move(a));
  return out;
}

}  // namespace

std::string verdict_text(const TaskAnswer& a, const LengthAnswer& e) {
  const std::string to = a.task->multiple(e.length);
  std::string out;
  switch (e.verdict) {
    case LengthVerdict::holds: out = "holds to " + to; break;
    case LengthVerdict::fails: out = "fails from " + to; break;
    case LengthVerdict::undecided:
      out = "undecided";
      if (e.needed > e.changes[0].seeds.size())
        out += fmt::format(" ({} seeds for 80 % power)", e.needed);
      break;
    case LengthVerdict::inapplicable:
      out = lost_by_swap(*a.task, e.encoding) ? "not applicable (lost by the swap)"
                                              : "not applicable (not learned)";
      break;
    case LengthVerdict::untested: out = "not tested"; break;
  }
  return out;
}

namespace {

// Who keeps how many tasks; `where` says of which models.
Text kept_tasks(const RunData& run, const std::vector<const TaskAnswer*>& all,
                const std::string& where) {
  std::map<std::size_t, std::size_t> kept, of;
  for (const TaskAnswer* a : all)
    for (const LengthAnswer& e : a->encodings) {
      ++of[e.encoding];  // what was never learned is not kept
      kept[e.encoding] += e.within && e.learned == Learned::yes ? 1 : 0;
    }
  std::vector<std::size_t> order;
  for (const auto& [e, count] : of) order.push_back(e);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return kept[x] > kept[y]; });
  std::vector<Text> parts;
  for (std::size_t i = 0; i < order.size() && i < 4 && kept[order[i]] > 0; ++i)
    parts.push_back(
        rich("{} {} of {}", code(run.encodings[order[i]]), kept[order[i]], of[order[i]]));
  if (parts.empty())
    return fmt::format("No encoding kept any of {} to its longest length{}.",
                       counted(all.size(), "task"), where);
  return rich("Tasks learned and kept to the longest length, in every seed{}: {}{}.", where,
              join(parts, ", "),
              parts.size() == order.size() ? ""
              : kept[order[parts.size()]] == 0
                  ? "; the others none"
                  : fmt::format("; the others at most {}", kept[order[parts.size()]]));
}

// Over many tasks; of few models one after the other.
std::vector<Text> over_tasks(const RunData& run, const std::vector<TaskAnswer>& all) {
  constexpr std::size_t few = 4;
  std::vector<std::string> chance;
  std::vector<Text> out;
  const bool each = run.several_models() && run.models.size() <= few;
  for (const std::string& model : each ? run.models : std::set<std::string>{""}) {
    std::vector<const TaskAnswer*> own;
    for (const TaskAnswer& a : all)
      if (!each || a.task->model == model) own.push_back(&a);
    if (!own.empty()) out.push_back(kept_tasks(run, own, each ? ", with model " + model : ""));
  }
  for (const TaskAnswer& a : all)
    if (a.at_chance) chance.push_back(a.task->task);
  if (!chance.empty())
    out.push_back(
        fmt::format("At the longest length every encoding is at chance on {}.",
                    chance.size() > 4 ? counted(chance.size(), "task") : join_and(chance)));
  return out;
}

}  // namespace

std::vector<Text> answer_sentences(const RunData& run) {
  const std::vector<TaskAnswer> all = answers(run);
  if (all.empty())
    return {
        "This run asks nothing about length: no task has records both at its training length "
        "and beyond."};
  if (all.size() > 3) return over_tasks(run, all);
  std::vector<Text> out;
  for (const TaskAnswer& a : all) {
    const Writer w{run, a};
    if (w.nobody_learned()) {
      out.push_back(w.unlearned());
      continue;
    }
    out.push_back(join({w.keepers(), w.losers(), w.best()}, " "));
  }
  return out;
}

Ground start_ground(const TaskAnswer& a) {
  Ground out = a.ground;
  for (const Ground& g : grounds(*a.task))
    if (g.trained && g.protocol == a.ground.protocol && g.length == a.task->train_length) out = g;
  return out;
}

std::string start_text(const TaskAnswer& a, const LengthAnswer& e) {
  const Ground g = start_ground(a);
  const double mean = summarize(scores(g, e.encoding)).mean;
  if (g.metric != "regret") return level(g, mean);
  return amount(g, mean) + " above optimum";
}

Table answer_table(const RunData& run) {
  const std::vector<TaskAnswer> all = answers(run);
  Table b{"", "", {{"task", "encoding", "verdict", "at the training length"}}, 3};
  std::vector<std::string> columns;  // where all tasks have the same
  for (const TaskAnswer& a : all) {
    std::vector<std::string> own;
    for (const int l : a.lengths) own.push_back(a.task->multiple(l));
    if (columns.empty()) columns = own;
    if (own != columns) columns.assign(1, "longest");
  }
  if (columns.size() > 5) columns.assign(1, "longest");
  const bool each = !columns.empty() && columns[0] != "longest";
  for (const std::string& c : columns) b.rows[0].push_back(c);
  for (const TaskAnswer& a : all)
    for (const LengthAnswer& e : a.encodings) {
      std::vector<Text> row = {Writer{run, a}.where(), run.encodings[e.encoding],
                               verdict_text(a, e), start_text(a, e)};
      for (const LengthChange& c : e.changes)
        if (each) row.push_back(change_text(a.ground, c.mean));
      if (!each)
        row.push_back(fmt::format("{} ({})", change_text(a.ground, e.loss()),
                                  a.task->multiple(a.lengths.back())));
      b.rows.push_back(std::move(row));
    }
  b.caption = "Columns beyond the training length: change from it, in nats or points.";
  return b;
}

Text answer_words() {
  return rich(
      "{}: the loss is shown to stay below what matters (0.02 nats, 5 points of accuracy) at every "
      "length up to that one. {}: a loss of at least that is shown. {}: neither, with the seeds "
      "that would decide with 80 % power. {}: not learned at the training length. {}: too few "
      "seeds, or seeds that do not differ. Paired t over seeds, Holm over the task's lengths and "
      "encodings.",
      emphasis("Holds"), emphasis("Fails"), emphasis("Undecided"), emphasis("Not applicable"),
      emphasis("Not tested"));
}

std::string answer_line(const RunData& run) {
  std::set<std::string> lengths, further, protocols;
  double seconds = 0;
  for (const TaskData& t : run.tasks) {
    lengths.insert(std::to_string(t.train_length));
    if (const std::string more = further_phrase(run, t); !more.empty()) further.insert(more);
    if (t.corpus && !t.protocols.empty()) protocols.insert(main_protocol(t));
    for (const auto& [key, c] : t.cells) seconds += c.train_seconds;
  }
  const auto listed = [](const std::set<std::string>& all) {
    return join(std::vector<std::string>(all.begin(), all.end()), ", ");
  };
  std::string out =
      fmt::format("{} · trained at {}", counted(run.seeds.size(), "seed"), listed(lengths));
  if (!further.empty()) out += fmt::format(" ({})", listed(further));
  if (!protocols.empty()) out += " · " + listed(protocols);
  out += fmt::format(" · {} of {} cells", run.cells, std::max(run.cells, run.planned));
  if (seconds > 0) out += " · training time " + format_seconds(seconds);
  return out;
}

}  // namespace pesuite
