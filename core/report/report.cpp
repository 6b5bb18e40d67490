#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_data.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "report/answer.h"
#include "report/figures.h"
#include "report/findings.h"
#include "report/hypotheses.h"
#include "report/tables.h"
#include "report/text.h"

namespace pesuite {

namespace {

// The page under construction, with the tables and figures that it shows.
class Page {
 public:
  explicit Page(const RunData& run) : run_(run) {
    for (const TaskData& t : run.tasks) contests_.push_back(contests(t));
    across_ = across_tasks(run, contests_);
  }

  void text(const std::string& paragraph) {
    if (!paragraph.empty()) page_ += paragraph + "\n\n";
  }
  void heading(int level, const std::string& title) {
    text(std::string(static_cast<std::size_t>(level), '#') + " " + title);
  }
  void figure(const Figure& f) {
    page_ += fmt::format("{}{}{}\n", figure_mark, figures_.size(), '\n');
    figures_.push_back(f);
  }
  void figures(const std::vector<Figure>& all) {
    for (const Figure& f : all) figure(f);
  }
  void block(const Block& b) { page_ += markdown(b) + "\n"; }
  void file(TableFile t) { tables_.push_back(std::move(t)); }
  void file_link(const TableFile& t) {
    text(fmt::format("Every value of every seed: [tables/{0}.csv](tables/{0}.csv).", t.name));
  }

  void answer();
  void findings();
  void hypotheses(const std::vector<Judged>& judged);
  void across();
  void tuning();
  void task(std::size_t i);
  void costs();
  void failures();
  void encodings();

  // What findings() writes, as plain lines.
  std::vector<std::string> lines() const;
  const std::vector<Figure>& all_figures() const { return figures_; }
  const std::vector<TableFile>& tables() const { return tables_; }
  // The page, with those figures that were drawn.
  std::string finish(const std::vector<fs::path>& drawn) const;

 private:
  void corpus(const TaskData& t);
  void problem(const TaskData& t);
  void recall(const TaskData& t);

  static constexpr const char* figure_mark = "\x01";  // replaced when it is known what was drawn
  const RunData& run_;
  std::vector<std::vector<Contest>> contests_;  // of each task
  Across across_;
  std::string page_;
  std::vector<Figure> figures_;
  std::vector<TableFile> tables_;
};

std::vector<std::string> Page::lines() const {
  std::vector<std::string> out = across_findings(run_, across_);
  for (std::size_t i = 0; i < run_.tasks.size(); ++i) {
    const TaskData& t = run_.tasks[i];
    for (const std::string& sentence : task_findings(run_, t, contests_[i]))
      out.push_back(
          fmt::format("{}{}: {}", t.task, run_.several_models() ? ", " + t.model : "", sentence));
  }
  return out;
}

void Page::answer() {
  heading(2, "Answer");
  for (const std::string& sentence : answer_sentences(run_)) text(sentence);
  if (const Block table = answer_table(run_); table.rows.size() > 1) block(table);
  text("*" + answer_line(run_) + "*");
}

// For a terminal: the same sentences, and no marks of emphasis.
std::string plain(std::string text) {
  for (std::size_t at; (at = text.find("**")) != std::string::npos;) text.erase(at, 2);
  return text;
}
std::string answer_text(const RunData& run) {
  return join(answer_sentences(run), "\n") + "\n" + answer_line(run) + "\n\n";
}

void Page::findings() {
  const std::vector<std::string> all = lines();
  if (all.empty()) return;
  heading(2, "Findings");
  std::string list;
  for (const std::string& line : all) list += "- " + line + "\n";
  text(trim(list));
  text(
      "Differences are paired by seed; p-values are those after Holm over all pairs of encodings "
      "at "
      "a place. Corpora: under the first protocol that scores the same tokens at every length; the "
      "other protocols stand in the tables of pairs.");
}

void Page::hypotheses(const std::vector<Judged>& judged) {
  const TableFile table = hypotheses_table(judged);
  if (table.blocks.empty()) return;
  heading(2, "Hypotheses");
  for (const Block& b : table.blocks) block(b);
  file(table);
}

void Page::across() {
  const TableFile table = across_table(run_, across_);
  const TableFile weighted = weighted_table(run_);
  if (table.blocks.empty() && weighted.blocks.empty() && ladder_figures(run_).empty()) return;
  heading(2, "Over all tasks");
  figures(across_figures(run_, across_));
  figures(ladder_figures(run_));
  for (const Block& b : table.blocks) block(b);
  file(table);
  for (const Block& b : weighted.blocks) block(b);
  if (!weighted.blocks.empty()) file(weighted);
}

void Page::task(std::size_t i) {
  const TaskData& t = run_.tasks[i];
  std::string title = t.task;
  if (run_.several_models()) title += ", model " + t.model;
  heading(2, title);
  text(task_sentence(run_, t));
  text(trained_sentence(run_, t));
  if (t.corpus) corpus(t);
  if (t.problem) problem(t);
  const TableFile probes = probe_table(run_, t);
  if (!t.corpus && !t.problem && probes.blocks.empty())
    text("Nothing was evaluated; see the failures below.");
  const TableFile more = generalisation_table(run_, t);
  for (const Block& b : more.blocks) block(b);
  if (!more.blocks.empty()) {
    file_link(more);
    file(more);
  }
  recall(t);
  const TableFile pairs = duel_table(run_, t, contests_[i]);
  for (const Block& b : pairs.blocks) block(b);
  if (pairs.csv.size() > 1) {
    text(fmt::format("Every pair at every length and protocol: [tables/{0}.csv](tables/{0}.csv).",
                     pairs.name));
    file(pairs);
  }
  text(untrained_sentence(run_, t));
  const std::vector<Figure> maps = attention_figures(run_, t);
  if (!probes.blocks.empty() || !maps.empty()) heading(3, "Probes");
  for (const Block& b : probes.blocks) block(b);
  if (!probes.blocks.empty()) {
    file_link(probes);
    file(probes);
  }
  figures(maps);
  const std::vector<Figure> curves = curve_figures(run_, t);
  if (!curves.empty()) heading(3, "Learning curves");
  figures(curves);
}

void Page::corpus(const TaskData& t) {
  for (const std::string& protocol : t.protocols) {
    heading(3, "Protocol " + protocol);
    const TableFile table = length_table(run_, t, protocol);
    const std::vector<Figure> pictures = length_figures(run_, t, protocol);
    for (const Block& b : table.blocks) {
      for (const Figure& f : pictures)
        if (f.name == b.figure) figure(f);
      block(b);
    }
    figures(position_figures(run_, t, protocol));
    file_link(table);
    file(table);
  }
}

void Page::problem(const TaskData& t) {
  const TableFile table = problem_table(run_, t);
  figures(accuracy_figures(run_, t));
  figures(map_figures(run_, t));
  figures(strip_figures(run_, t));
  for (const Block& b : table.blocks) block(b);
  file_link(table);
  file(table);
}

void Page::recall(const TaskData& t) {
  const TableFile table = recall_table(run_, t);
  if (table.blocks.empty()) return;
  for (const Block& b : table.blocks) block(b);
  figures(recall_figures(run_, t));
  file_link(table);
  file(table);
}

// Learning rates that were tried and chosen, and that all encodings had the same choice.
void Page::tuning() {
  if (!run_.tuning.is_object()) return;
  heading(2, "Learning rates");
  Rows rows = {{"task", "encoding"}};
  for (const Json& rate : run_.tuning["rates"])
    rows[0].push_back(format_number(rate.get<double>()));
  for (const Json& c : run_.tuning["chosen"]) {
    std::vector<std::string> row(rows[0].size(), "–");
    row[0] = c["task"].get<std::string>(), row[1] = c["encoding"].get<std::string>();
    for (const Json& l : c["losses"]) {
      const std::string rate = format_number(l["lr"].get<double>());
      const auto at = std::find(rows[0].begin(), rows[0].end(), rate) - rows[0].begin();
      const std::string text = l["loss"].is_number() ? nats_text(l["loss"].get<double>())
                                                     : l["status"].get<std::string>();
      const bool best = l["lr"] == c["lr"];
      row[static_cast<std::size_t>(at)] = best ? "**" + text + "**" : text;
    }
    if (c["at_edge"].get<bool>()) row[1] += " (edge of the grid)";
    rows.push_back(std::move(row));
  }
  std::vector<std::string> seeds;
  for (const Json& seed : run_.tuning["seeds"]) seeds.push_back(seed.dump());
  block({"",
         fmt::format("Validation loss at the training length, in nats, with the tuning seeds "
                     "({}), which are not reported. Each encoding trained at its best rate "
                     "(bold), from the same grid.",
                     join(seeds, ", ")),
         rows, 2});
}

void Page::costs() {
  const TableFile table = cost_table(run_);
  if (table.blocks.empty()) return;
  heading(2, "Parameters and speed");
  for (const Block& b : table.blocks) block(b);
  file_link(table);
  file(table);
}

void Page::failures() {
  const TableFile table = failure_table(run_);
  heading(2, "Failures");
  if (table.blocks.empty()) text("None: no cell failed or diverged.");
  for (const Block& b : table.blocks) block(b);
  file(table);
}

void Page::encodings() {
  heading(2, "Encodings");
  Rows rows = {{"encoding", "expression in full", "plugin"}};
  for (std::size_t i = 0; i < run_.encodings.size(); ++i)
    if (!run_.expressions[i].empty())
      rows.push_back({run_.encodings[i], "`" + run_.expressions[i] + "`", run_.plugins[i]});
  block({"", "", rows, 3});
}

std::string Page::finish(const std::vector<fs::path>& drawn) const {
  std::string out;
  for (std::size_t at = 0; at < page_.size();) {
    const std::size_t mark = page_.find(figure_mark, at);
    out += page_.substr(at, mark - at);
    if (mark == std::string::npos) break;
    const std::size_t end = page_.find('\n', mark);
    const Figure& f = figures_[std::stoul(page_.substr(mark + 1, end - mark - 1))];
    const bool there = std::any_of(drawn.begin(), drawn.end(),
                                   [&](const fs::path& p) { return p.stem() == f.name; });
    if (there) out += fmt::format("![{0}](figures/{1}.svg)\n\n", f.title, f.name);
    out += fmt::format(
        "*{0}{1}* Data: [{2}.tsv](figures/{2}.tsv); `gnuplot {2}.gp` in `figures/` redraws it.\n",
        there ? "" : "(Not drawn.) ", f.caption, f.name);
    at = end + 1;
  }
  return out;
}

// What the suite expects and what is asked now.
std::vector<Judged> judge_all(RunData& run, const std::vector<std::string>& expect) {
  std::vector<Hypothesis> all = hypotheses_of(run);
  for (const std::string& e : expect) {
    Hypothesis h;
    h.id = fmt::format("X{}", all.size() + 1);
    h.expect = e, h.planned = false;
    try {
      h.comparisons = parse_hypothesis(e);
      check_names(h.comparisons, names_of(run));
    } catch (const Error& error) {
      fail(Exit::usage, "--expect '{}': {}", e, error.what());
    }
    all.push_back(std::move(h));
  }
  return judge(run, all);
}

}  // namespace

ReportResult write_report(const fs::path& folder, const std::vector<std::string>& expect) {
  RunData run = read_run(folder);
  const std::vector<Judged> judged = judge_all(run, expect);
  ReportResult result{folder / "report.md",
                      answer_text(run) + headline(run),
                      "",
                      to_json(run, judged),
                      {},
                      run.notes};
  Page page(run);
  page.heading(1, run.suite.empty() ? run.folder : run.suite);
  if (!run.about.empty()) page.text("> " + run.about);
  page.answer();
  page.text(cells_sentence(run));
  page.text(context_sentence(run));
  page.text("Encodings stand in the order of the suite, never of merit. " + seeds_sentence(run));
  page.findings();
  page.hypotheses(judged);
  page.across();
  for (std::size_t i = 0; i < run.tasks.size(); ++i) page.task(i);
  page.tuning();
  page.costs();
  page.failures();
  page.encodings();
  page.text(
      "All of this follows from `records.jsonl` in this folder; `pesuite report .`, called here, "
      "writes it anew.");
  for (const std::string& line : page.lines()) result.findings += "- " + plain(line) + "\n";
  if (!judged.empty()) result.findings += fmt::format("\n{}", hypotheses_text(judged));
  write_file_atomic(folder / "hypotheses.json", result.verdicts.dump(1) + "\n");
  const Drawn drawn = draw(page.all_figures(), folder / "figures", plots_folder());
  result.figures = drawn.files;
  result.notes.insert(result.notes.end(), drawn.notes.begin(), drawn.notes.end());
  for (const TableFile& t : page.tables()) {
    std::string text;
    for (const Block& b : t.blocks) text += markdown(b) + "\n";
    write_file_atomic(folder / "tables" / (t.name + ".md"), text);
    write_file_atomic(folder / "tables" / (t.name + ".csv"), csv_table(t.csv));
  }
  write_file_atomic(result.file, page.finish(drawn.files));
  return result;
}

bool report_exists(const fs::path& run) {
  return fs::exists(run / "report.md");
}

}  // namespace pesuite
