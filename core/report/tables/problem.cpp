// Tables of problems: accuracy and loss at each setting, in and out of distribution.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/metrics.h"
#include "report/tables.h"

namespace pesuite {

namespace {

std::string lower_case(std::string_view sentence) {
  std::string out(sentence);
  if (!out.empty()) out[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(out[0])));
  return out;
}

struct ProblemTable {
  const RunData& run;
  const TaskData& t;
  std::vector<SettingPart> parts = setting_parts(t);
  std::vector<Metric> extra = recorded(t);  // beside accuracy and loss
  bool alone = t.seeds.size() == 1;

  static std::vector<Metric> recorded(const TaskData& t) {
    std::vector<Metric> out;
    for (const Metric& m : metrics())
      if (m.column && t.has(std::string(m.name))) out.push_back(m);
    return out;
  }

  // What a setting is compared with: the same axis values at the training length where those were
  // trained, else the mean of all that was trained there.
  std::vector<const Setting*> base(const SettingPart& p) const {
    std::vector<const Setting*> all;
    for (const Setting& s : t.settings) {
      if (!s.trained || s.length != t.train_length) continue;
      if (s.axes == p.setting->axes) return {&s};
      all.push_back(&s);
    }
    return all;
  }

  double change(const CellData& c, const char* metric, const SettingPart& p) const {
    const Number* here = c.find(problem_place(metric, p));
    const std::vector<const Setting*> from = base(p);
    if (here == nullptr || from.empty()) return Number::none;
    double sum = 0;
    for (const Setting* s : from) {
      const Number* n = c.find(problem_place(metric, {s, "", ""}));
      sum += n == nullptr ? Number::none : n->value;
    }
    return here->value - sum / static_cast<double>(from.size());
  }

  std::string interval_text(std::size_t e, const Place& p, const SettingPart* part) const {
    const std::vector<SeedValue> values = values_at(t, e, p);
    if (!alone) return spread_text(in_row(t, e, values), percent_text);
    const CellData* c = t.cell(e, t.seeds[0]);
    const Number* found = c == nullptr ? nullptr : c->find(p);
    if (found == nullptr) return spread_text(summarize(values), percent_text);
    const Number n = part != nullptr ? share_at(*c, accuracy_place(*part)) : *found;
    return fmt::format("{} [{}, {}]", percent_text(n.value), percent_text(n.low),
                       percent_text(n.high));
  }

  std::string accuracy_text(std::size_t e, const SettingPart& p) const {
    std::string out = interval_text(e, accuracy_place(p), &p);
    switch (at_chance(t, e, accuracy_place(p))) {
      case AtChance::no: break;
      case AtChance::some: out += ", some seeds at chance"; break;
      case AtChance::all: out += ", at chance"; break;
    }
    return out;
  }

  std::string change_text(std::size_t e, const char* metric, const SettingPart& p,
                          const Format& format) const {
    if (p.setting->trained) return "";
    const Spread s =
        in_row(t, e, values_of(t, e, [&](const CellData& c) { return change(c, metric, p); }));
    return s.n == 0 ? "–" : spread_text(s, format);
  }

  // Seeds that solve it: accuracy is often all or nothing.
  std::string solved(std::size_t e, const SettingPart& p) const {
    std::size_t good = 0, all = 0;
    for (const SeedValue& v : values_at(t, e, accuracy_place(p))) {
      all += std::isnan(v.value) ? 0 : 1;
      good += v.value >= 0.95 ? 1 : 0;
    }
    return fmt::format("{} of {}", good, all);
  }

  std::vector<std::string> heading() const {
    std::vector<std::string> h = {"setting", "range", "encoding",
                                  alone ? "accuracy %" : "accuracy %, mean", "chance %"};
    if (!alone) h.push_back("seeds ≥ 95 %");
    for (const char* name : {"loss", "Δ accuracy", "Δ loss"}) h.emplace_back(name);
    for (const Metric& m : extra)
      h.push_back(std::string(m.heading) + (m.written == Metric::Written::share ? " %" : ""));
    return h;
  }

  std::vector<std::string> row(std::size_t e, const SettingPart& p) const {
    const double chance = chance_of(t, accuracy_place(p));
    std::vector<std::string> r = {p.name, p.setting->trained ? "in range" : "beyond",
                                  row_name(run, t, e), accuracy_text(e, p),
                                  std::isnan(chance) ? "–" : percent_text(chance)};
    if (!alone) r.push_back(solved(e, p));
    if (p.bucket.empty()) {
      r.push_back(spread_text(in_row(t, e, values_at(t, e, problem_place("nll", p))), nats_text));
      r.push_back(change_text(e, "acc", p, signed_percent_text));
      r.push_back(change_text(e, "nll", p, signed_nats_text));
      for (const Metric& m : extra)
        r.push_back(extra_text(e, m, problem_place(std::string(m.name), p)));
    } else {
      r.insert(r.end(), {"", change_text(e, "acc", p, signed_percent_text), ""});
      r.insert(r.end(), extra.size(), "");
    }
    return r;
  }

  std::string extra_text(std::size_t e, const Metric& m, const Place& p) const {
    if (m.written == Metric::Written::share) return interval_text(e, p, nullptr);
    return spread_text(in_row(t, e, values_at(t, e, p)),
                       [](double v) { return format_fixed(v, 3); });
  }

  Text candidates_sentence() const {
    if (!t.has("candidate_acc")) return {};
    Text out;
    const SettingPart any{&t.settings[0], "", ""};  // a task has as many candidates everywhere
    const double first = chance_of(t, problem_place("candidate_acc", any)),
                 mrr = chance_of(t, problem_place("mrr", any));
    if (!std::isnan(first) && !std::isnan(mrr))
      out += fmt::format(" Candidates in random order have {} % and {}.", percent_text(first),
                         format_fixed(mrr, 3));
    return out;
  }

  Table block() const {
    Table b{"In range and beyond", "", {}, 3};
    const std::vector<std::string> names = heading();
    b.rows.emplace_back(names.begin(), names.end());
    for (const SettingPart& p : parts)
      for (const std::size_t e : t.encodings) {
        const std::vector<std::string> cells = row(e, p);
        b.rows.emplace_back(cells.begin(), cells.end());
      }
    b.caption =
        alone ? fmt::format("One seed ({}); [95 % interval over examples, Wilson].", t.seeds[0])
              : fmt::format("Mean over {} seeds [lowest, highest seed].", t.seeds.size());
    b.caption +=
        " In range: training length and axis values that training drew from; beyond: everything "
        "else. Loss in nats per target; Δ = setting minus in range at the training length, "
        "accuracy "
        "in points. ";
    b.caption += rich(alone ? "{}: the interval holds the chance level."
                            : "{}: every seed's 95 % interval holds the chance level.",
                      emphasis("at chance"));
    if (std::any_of(t.settings.begin(), t.settings.end(),
                    [](const Setting& x) { return x.seen || x.unseen; }))
      b.caption += rich(
          " {} positions lie within the training length, {} beyond it; an accuracy over all "
          "positions mixes both and is no measure of generalisation.",
          emphasis("seen"), emphasis("unseen"));
    for (const Metric& m : extra)
      b.caption += rich(" {}: {}.", emphasis(std::string(m.heading)), lower_case(m.says));
    b.caption += candidates_sentence();
    return b;
  }

  Rows csv() const {
    Rows rows = {{"encoding",  "expression", "task",     "model",    "train_len", "eval_len",
                  "multiple",  "setting",    "split",    "bucket",   "seed",      "status",
                  "chance",    "acc",        "acc_low",  "acc_high", "at_chance", "nll",
                  "delta_acc", "delta_nll",  "examples", "targets"}};
    for (const Metric& m : extra)
      for (const char* end : {"", "_low", "_high", "_chance"})
        rows[0].push_back(fmt::format("{}{}", m.name, end));
    std::set<std::string> axes;
    for (const Setting& s : t.settings)
      for (const auto& [axis, value] : s.axes) axes.insert(axis);
    rows[0].insert(rows[0].end(), axes.begin(), axes.end());
    for (const SettingPart& p : parts)
      for (const std::size_t e : t.encodings)
        for (const SeedValue& v : values_at(t, e, accuracy_place(p))) {
          rows.push_back(csv_row(e, p, v));
          for (const std::string& name : axes) {
            double at = Number::none;
            for (const auto& [axis, value] : p.setting->axes)
              if (axis == name) at = value;
            rows.back().push_back(csv_number(at));
          }
        }
    return rows;
  }

  std::vector<std::string> csv_row(std::size_t e, const SettingPart& p,
                                   const SeedValue& of_seed) const {
    static const CellData nothing;
    const CellData* cell = t.cell(e, of_seed.seed);
    const CellData& c = cell == nullptr ? nothing : *cell;
    const Number acc = share_at(c, accuracy_place(p));
    const auto find = [&](const char* metric) {
      const Number* n = p.bucket.empty() ? c.find(problem_place(metric, p)) : nullptr;
      return n == nullptr ? Number() : *n;
    };
    const std::string status = std::isnan(of_seed.value) ? of_seed.lost : "ok";
    const bool comparable = !std::isnan(acc.low) && !std::isnan(acc.chance);
    const bool held = comparable && acc.low <= acc.chance && acc.chance <= acc.high;
    const bool change_known = !p.setting->trained;
    const auto delta = [&](const char* metric) {
      return change_known ? csv_number(change(c, metric, p)) : std::string();
    };
    std::vector<std::string> row = {
        run.encodings[e],
        t.encoded.contains(e) ? t.encoded.at(e) : run.expressions[e],
        t.task,
        t.model,
        std::to_string(t.train_length),
        std::to_string(p.setting->length),
        format_number(static_cast<double>(p.setting->length) / t.train_length),
        t.name(*p.setting),
        p.setting->trained ? "id" : "ood",
        p.bucket,
        std::to_string(of_seed.seed),
        status,
        csv_number(acc.chance),
        csv_number(acc.value),
        csv_number(acc.low),
        csv_number(acc.high),
        comparable ? (held ? "yes" : "no") : "",
        csv_number(find("nll").value),
        delta("acc"),
        p.bucket.empty() ? delta("nll") : "",
        std::to_string(acc.n),
        std::to_string(acc.count)};
    for (const Metric& m : extra) {
      const Number n = find(std::string(m.name).c_str());
      for (const double v : {n.value, n.low, n.high, n.chance}) row.push_back(csv_number(v));
    }
    return row;
  }
};

}  // namespace

TableFile problem_table(const RunData& run, const TaskData& t) {
  const ProblemTable table{run, t};
  return {file_name(run, t, "problem"), {table.block()}, table.csv()};
}

}  // namespace pesuite
