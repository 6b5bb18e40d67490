#include "cli/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>

#include "analysis/answer.h"
#include "analysis/judge.h"
#include "analysis/numbers.h"
#include "base/error.h"
#include "base/text.h"
#include "encoding/composition.h"
#include "model/metrics.h"
#include "plugin/card.h"
#include "report/answer.h"
#include "report/hypotheses.h"
#include "suite/config.h"

namespace pesuite::cli {

namespace {

// ------------------------------------------------------------------------- names of encodings

Written written(const std::string& expression) {
  const EncodingExpression e = parse_encoding(expression);
  const Sum& last = !e.evaluation.empty() ? e.evaluation
                    : !e.switches.empty() ? e.switches.back().to
                                          : e.first;
  Written out{expression, names_of(last), join(names_of(e.first), " + "), 0};
  if (out.trained == join(out.names, " + ")) out.trained.clear();
  for (const Sum::Factor& f : last.factors)
    for (const char* option : {"factor", "scale"})  // as cards of extensions call it
      if (const auto given = f.term.options.find(option); given != f.term.options.end())
        if (double x = 0; parse_count(given->second, x)) out.factor = x;
  return out;
}

// By id, as the suite wrote them: records have every option filled in.
std::map<std::string, Written> written_in(const fs::path& suite) {
  Problems problems;
  const Config config = Config::from_toml(suite, problems);
  problems.throw_if_any();
  std::map<std::string, Written> out;
  for (const Json& e : config.root().at("encoding")) {
    const std::string expression = card_text(e, "expr"), id = card_text(e, "id");
    out.emplace(id.empty() ? expression : id, written(expression));
  }
  return out;
}

// ------------------------------------------------------------------------------------ lengths

double reached(const TaskData& t, int length) {
  return static_cast<double>(length) / t.train_length;
}

LengthMeasured row_of(const RunData& run, const TaskAnswer& a, const LengthAnswer& e) {
  LengthMeasured out;
  out.suite = run.folder, out.task = a.task->task, out.train_length = a.task->train_length;
  if (run.several_models()) out.task += ", model " + a.task->model;
  out.seeds = e.changes[0].seeds.size();
  out.verdict = verdict_text(a, e);
  out.start = start_text(a, e);
  std::vector<std::string> changes;
  for (const LengthChange& c : e.changes)
    changes.push_back(a.task->multiple(c.length) + " " + change_text(a.ground, c.mean));
  out.changes = join(changes, ", ") + (a.ground.share() ? " points" : " nats");
  if (e.verdict == LengthVerdict::fails) out.fails = reached(*a.task, e.length);
  if (e.learned == Learned::no) return out;
  for (const LengthChange& c : e.changes) {
    if (!(c.p < significance) || c.mean >= a.ground.matters()) break;
    out.holds = reached(*a.task, c.length);
  }
  return out;
}

void add_lengths(const KeptRun& run, Measured& out) {
  for (const TaskData& t : run.data.tasks) {
    TaskAnswer a = answer_of(t);
    // Suite order, which no verdict changes.
    std::stable_sort(a.encodings.begin(), a.encodings.end(),
                     [](const auto& x, const auto& y) { return x.encoding < y.encoding; });
    std::vector<LengthMeasured> rows;
    for (const LengthAnswer& e : a.encodings) rows.push_back(row_of(run.data, a, e));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Written& w = run.encoding(run.data.encodings[a.encodings[i].encoding]);
      rows[i].expression = w.expression, rows[i].trained = w.trained, rows[i].factor = w.factor;
      rows[i].telling = std::any_of(rows.begin(), rows.end(), [&](const LengthMeasured& other) {
        return other.fails > 0 && other.fails <= rows[i].holds;
      });
      rows[i].beaten = std::any_of(rows.begin(), rows.end(), [&](const LengthMeasured& other) {
        return rows[i].fails > 0 && other.holds >= rows[i].fails;
      });
      for (const std::string& name : w.names) {
        out.lengths.push_back(rows[i]);
        out.lengths.back().encoding = name;
      }
    }
  }
}

// ------------------------------------------------------------------------------------- claims

void collect(const Term& t, std::vector<Quantity>& all, bool& ratio) {
  if (t.kind == Term::Kind::quantity) all.push_back(t.quantity);
  ratio |= t.kind == Term::Kind::multiply || t.kind == Term::Kind::divide ||
           t.kind == Term::Kind::logarithm || t.kind == Term::Kind::exponential;
  for (const Term& p : t.parts) collect(p, all, ratio);
}

std::vector<Quantity> quantities_of(const Hypothesis& h) {
  std::vector<Quantity> all;
  bool ratio = false;
  for (const Comparison& c : h.comparisons)
    collect(c.left, all, ratio), collect(c.right, all, ratio);
  return all;
}

// Shares as percent, where they are compared as they are.
bool in_percent(const Comparison& c) {
  std::vector<Quantity> all;
  bool ratio = false;
  collect(c.left, all, ratio), collect(c.right, all, ratio);
  return !ratio && std::all_of(all.begin(), all.end(), [](const Quantity& q) {
    return metric(q.metric).written == Metric::Written::share;
  });
}

std::string number(double x, bool percent) {
  if (!std::isfinite(x)) return format_fixed(x, 0);
  if (!percent) return format_fixed(x, std::abs(x) < 10 ? 3 : 2);
  const double size = std::abs(100 * x);
  return format_fixed(100 * x, size > 99.5 && size < 100 ? 2 : 1);
}

// "1.605 against 1.500 [0.081, 0.129]", "84.5 against 60.3 % [-32.4, 50.9]".
std::string numbers_of(const Judged& j) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < j.evidence.size(); ++i) {
    const Evidence& e = j.evidence[i];
    if (e.seeds.empty()) continue;
    const bool percent = in_percent(j.hypothesis.comparisons[i]);
    std::string one =
        fmt::format("{} against {}", number(e.left_mean, percent), number(e.right_mean, percent));
    if (percent) one += " %";
    if (!std::isnan(e.low))
      one += fmt::format(" [{}, {}]", number(e.low, percent), number(e.high, percent));
    out.push_back(one);
  }
  return out.empty() ? "no seed has both sides" : join(out, "; ");
}

void add_claims(KeptRun& run, Measured& out) {
  for (const Judged& j : judge(run.data, hypotheses_of(run.data))) {
    const Hypothesis& h = j.hypothesis;
    ClaimMeasured c{{}, run.data.folder, h.id, h.says, h.source, verdict_text(j), numbers_of(j)};
    for (const Quantity& q : quantities_of(h))
      for (const std::string& name : run.encoding(q.encoding).names)
        if (std::find(c.encodings.begin(), c.encodings.end(), name) == c.encodings.end())
          c.encodings.push_back(name);
    out.claims.push_back(std::move(c));
  }
}

constexpr const char* numbers_heading = "left against right [difference, 95 %]";

}  // namespace

const Written& KeptRun::encoding(const std::string& id) const {
  const auto found = written.find(id);
  if (found == written.end())
    fail(Exit::data,
         "docs/results/{}: suite.resolved.toml has no encoding '{}', of which records tell",
         data.folder, id);
  return found->second;
}

std::vector<KeptRun> kept_runs(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& item : fs::directory_iterator(folder))
    if (fs::exists(item.path() / "records.jsonl")) found.push_back(item.path());
  std::sort(found.begin(), found.end());
  std::vector<KeptRun> out;
  for (const fs::path& p : found)
    out.push_back({read_run(p), written_in(p / "suite.resolved.toml")});
  return out;
}

Measured measured_in(std::vector<KeptRun>& runs) {
  Measured out;
  for (KeptRun& run : runs) add_lengths(run, out), add_claims(run, out);
  return out;
}

std::string claims_table(const Measured& m, const std::string& suite) {
  std::vector<std::vector<std::string>> rows = {{"hypothesis", "verdict", numbers_heading}};
  for (const ClaimMeasured& c : m.claims)
    if (c.suite == suite) rows.push_back({c.id + ": " + c.says, c.verdict, c.numbers});
  return rows.size() == 1 ? "" : markdown_text_table(rows);
}

// ------------------------------------------------------------------- sentences with verdicts

namespace {

const std::regex report_link(R"re(\]\(results/([a-z0-9_]+)/report\.md\))re");
const std::regex judged_line(R"re(^(  `([^`]+)`:).*$)re");

// Lines of a section that a judge completes, with what it says.
void judge_lines(std::vector<std::string>& lines, const std::vector<std::size_t>& which,
                 RunData& run) {
  std::vector<Hypothesis> all;
  std::smatch m;
  for (const std::size_t i : which) {
    std::regex_match(lines[i], m, judged_line);
    Hypothesis h;
    h.id = std::to_string(i), h.expect = m[2], h.planned = false;
    try {
      h.comparisons = parse_hypothesis(h.expect);
      check_names(h.comparisons, names_of(run));
    } catch (const Error& e) {
      fail(Exit::data, "docs/results.md:{}: '{}' cannot be judged on {}: {}", i + 1, h.expect,
           run.folder, e.what());
    }
    all.push_back(std::move(h));
  }
  const std::vector<Judged> judged = judge(run, all);
  for (std::size_t k = 0; k < which.size(); ++k) {
    std::string& line = lines[which[k]];
    std::regex_match(line, m, judged_line);
    line = fmt::format("{} {} ({})", m[1].str(), verdict_text(judged[k]), numbers_of(judged[k]));
  }
}

}  // namespace

std::string with_verdicts(const std::string& page, std::vector<KeptRun>& runs) {
  std::vector<std::string> lines = split(page, '\n');
  std::vector<std::size_t> which;
  RunData* run = nullptr;
  const auto close = [&] {
    if (!which.empty() && run == nullptr)
      fail(Exit::data, "docs/results.md:{}: no report is linked above what is to be judged",
           which[0] + 1);
    if (!which.empty()) judge_lines(lines, which, *run);
    which.clear(), run = nullptr;
  };
  std::smatch m;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("## ")) close();
    if (run == nullptr && std::regex_search(lines[i], m, report_link))
      for (KeptRun& r : runs)
        if (r.data.folder == m[1].str()) run = &r.data;
    if (std::regex_match(lines[i], judged_line)) which.push_back(i);
  }
  close();
  return join(lines, "\n");
}

// ---------------------------------------------------------------------------------------- pages

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string page_of(const std::string& suite) {
  return fmt::format("[{0}](../results/{0}/report.md)", suite);
}

Rows length_rows(const std::vector<LengthMeasured>& rows,
                 const std::function<std::string(const LengthMeasured&)>& task,
                 const std::function<std::string(const std::string&)>& suite) {
  Rows out = {{"task", "suite", "trained at", "seeds", "verdict", "there", "change beyond"}};
  for (const LengthMeasured& r : rows)
    out.push_back({task(r), suite(r.suite), std::to_string(r.train_length), std::to_string(r.seeds),
                   r.verdict, r.start, r.changes});
  return out;
}
Rows claim_rows(const std::string& encoding, const Measured& m,
                const std::function<std::string(const ClaimMeasured&)>& claim) {
  Rows out = {{"claim", "verdict here", numbers_heading}};
  for (const ClaimMeasured& c : m.claims)
    if (std::find(c.encodings.begin(), c.encodings.end(), encoding) != c.encodings.end())
      out.push_back({claim(c), c.verdict, c.numbers});
  return out;
}

}  // namespace

std::string measured_rows_text(const std::string& name, const Measured& m) {
  const Rows lengths = length_rows(
      m.of(name),
      [](const LengthMeasured& r) {
        return r.task + (r.expression == r.encoding ? "" : " as " + r.expression);
      },
      [](const std::string& suite) { return suite; });
  const Rows claims = claim_rows(name, m, [](const ClaimMeasured& c) {
    return fmt::format("{} of {}: {}", c.id, c.suite, c.says);
  });
  if (lengths.size() == 1 && claims.size() == 1) return "no kept run has it\n";
  std::vector<std::string> out;
  for (const Rows& rows : {lengths, claims})
    if (rows.size() > 1) out.push_back(plain_table(rows));
  return join(out, "\n");
}

std::string measured_markdown(const Json& card, const Measured& m) {
  const LengthClaim stated = length_claim(card);
  const std::string name = card_text(card, "name"), claim = claim_text(stated);
  const std::vector<LengthMeasured> rows = m.of(name);
  std::string out =
      fmt::format("**Claimed.** {}.", claim.empty() ? "No paper is known to rate its length "
                                                      "generalization"
                                                    : "Papers: " + claim);
  const std::string contrary = disagreement(stated, rows);
  if (!contrary.empty())
    out += fmt::format(" **They disagree** with what was measured: {}.", contrary);
  const Rows lengths = length_rows(
      rows,
      [](const LengthMeasured& r) {
        return r.expression == r.encoding ? r.task : fmt::format("{}, `{}`", r.task, r.expression);
      },
      page_of);
  const Rows claims = claim_rows(name, m, [](const ClaimMeasured& c) {
    return fmt::format("[{}](../results/{}/report.md): {}{}", c.id, c.suite, c.says,
                       c.source.empty() ? "" : " (" + c.source + ")");
  });
  if (lengths.size() == 1 && claims.size() == 1)
    return out + fmt::format(
                     "\n\n**Measured here.** Not tested: no kept run has it. To measure it:\n\n"
                     "```\npesuite run length_generalization --set 'encoding=[{{expr=\"{}\"}}, "
                     "{{expr=\"rope\"}}]' --set 'hypothesis=[]'\n```\n",
                     name);
  out +=
      "\n\n**Measured here**, with small models: [verdicts](../results.md#verdicts) hold at this "
      "size.\n";
  if (lengths.size() > 1) out += "\n" + markdown_text_table(lengths);
  if (claims.size() > 1) out += "\n" + markdown_text_table(claims);
  return out;
}

}  // namespace pesuite::cli
