#include "suite/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "suite/report_data.h"
#include "suite/report_figures.h"
#include "suite/report_tables.h"
#include "suite/report_text.h"

namespace pesuite {

namespace {

// The page under construction, with the tables and figures that it shows.
class Page {
 public:
  explicit Page(const RunData& run) : run_(run) {}

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

  void task(const TaskData& t);
  void costs();
  void failures();
  void encodings();

  const std::vector<Figure>& all_figures() const { return figures_; }
  const std::vector<TableFile>& tables() const { return tables_; }
  // The page, with those figures that were drawn.
  std::string finish(const std::vector<fs::path>& drawn) const;

 private:
  void corpus(const TaskData& t);
  void problem(const TaskData& t);

  static constexpr const char* figure_mark = "\x01";  // replaced when it is known what was drawn
  const RunData& run_;
  std::string page_;
  std::vector<Figure> figures_;
  std::vector<TableFile> tables_;
};

void Page::task(const TaskData& t) {
  std::string title = t.task;
  if (run_.several_models()) title += ", model " + t.model;
  heading(2, title);
  text(task_sentence(run_, t));
  text(trained_sentence(run_, t));
  if (t.corpus) corpus(t);
  if (t.problem) problem(t);
  if (!t.corpus && !t.problem) text("Nothing was evaluated; see the failures below.");
  text(untrained_sentence(run_, t));
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
  for (const Block& b : table.blocks) block(b);
  file_link(table);
  file(table);
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

}  // namespace

ReportResult write_report(const fs::path& folder) {
  const RunData run = read_run(folder);
  ReportResult result{folder / "report.md", headline(run), {}, run.notes};
  Page page(run);
  page.heading(1, run.suite.empty() ? run.folder : run.suite);
  if (!run.about.empty()) page.text("> " + run.about);
  page.text(cells_sentence(run));
  page.text(context_sentence(run));
  page.text("Encodings stand in the order of the suite, never of merit. " + seeds_sentence(run));
  for (const TaskData& t : run.tasks) page.task(t);
  page.costs();
  page.failures();
  page.encodings();
  page.text(
      fmt::format("All of this follows from `records.jsonl` in this folder; `pesuite report {}` "
                  "writes it anew.",
                  run.folder));
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
