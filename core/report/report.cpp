#include "report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/discoveries.h"
#include "analysis/paired.h"
#include "analysis/run_data.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/cell.h"
#include "report/answer.h"
#include "report/brief.h"
#include "report/earlier.h"
#include "report/figures.h"
#include "report/findings.h"
#include "report/gnuplot.h"
#include "report/hypotheses.h"
#include "report/lines.h"
#include "report/renderer.h"
#include "report/tables.h"
#include "report/terminal.h"
#include "report/text.h"

namespace pesuite {

namespace {

// How much of a report moves from its page to its evidence, so that the page stays short. Each
// takes what the one before it takes, too.
enum class Brevity {
  none,
  tables,     // of tasks: their figures stay
  tasks,      // a row a task in one table
  encodings,  // a row a task in the answer, an encoding in the cost
  most
};

// The document under construction, with the files of tables that stand beside it.
class Page {
 public:
  explicit Page(const RunData& run) : run_(run) {
    for (const TaskData& t : run.tasks) contests_.push_back(contests(t));
    across_ = across_tasks(run, contests_);
  }
  void write(const std::vector<Judged>& judged, Brevity);
  const Document& document() const { return document_; }
  const std::vector<TableFile>& tables() const { return tables_; }

 private:
  void answer();
  void more_seeds();
  void claims(const std::vector<Judged>& judged);
  Depth task_depth() const {
    constexpr std::size_t few = 3;  // tasks that a terminal shows one by one
    return run_.tasks.size() <= few ? Depth::screen : Depth::page;
  }
  void task(std::size_t i);
  void recall(const TaskData& t);
  void probes(const TaskData& t);
  void pairs(std::size_t i);
  void across();
  void cost();
  void trust(const std::vector<Judged>& judged);
  void tuning();
  void encodings();
  void data();

  void heading(int level, const std::string& title, Depth depth = Depth::page) {
    document_.heading(level, title, depth);
  }
  void text(Text t, Paragraph::Kind kind = Paragraph::Kind::plain) {
    document_.text(std::move(t), kind);
  }
  void figures(FigureSection s) { document_.figures(figures_of(s, {run_, across_})); }
  void evidence(const std::string& title) { heading(3, title, Depth::evidence); }
  // A table's blocks, and its file.
  void tables(TableFile t) {
    for (const Table& b : t.blocks) document_.table(b);
    keep(std::move(t));
  }
  void keep(TableFile t) {
    if (t.blocks.empty()) return;
    text(rich("Every value of every seed: {}.",
              link(fmt::format("tables/{}.csv", t.name), fmt::format("tables/{}.csv", t.name))));
    tables_.push_back(std::move(t));
  }
  std::string title_of(const TaskData& t) const {
    return run_.several_models() ? t.task + ", model " + t.model : t.task;
  }

  bool brief(Brevity b) const { return brevity_ >= b; }

  const RunData& run_;
  Brevity brevity_ = Brevity::none;
  std::vector<std::vector<Contest>> contests_;  // of each task
  Across across_;
  Document document_;
  std::vector<TableFile> tables_;
};

void Page::write(const std::vector<Judged>& judged, Brevity brevity) {
  brevity_ = brevity;
  document_ = {}, tables_.clear();
  heading(1, run_.suite.empty() ? run_.folder : run_.suite, Depth::screen);
  text(run_.about, Paragraph::Kind::quote);
  answer();
  claims(judged);
  if (brief(Brevity::tasks)) {
    heading(2, "Tasks", task_depth());
    document_.table(brief_tasks(run_, [this](const TaskData& t) { return title_of(t); }));
  }
  for (std::size_t i = 0; i < run_.tasks.size(); ++i) task(i);
  across();
  cost();
  trust(judged);
  data();
}

void Page::answer() {
  heading(2, "Answer", Depth::screen);
  text(run_.caution);
  for (const Text& sentence : answer_sentences(run_)) text(sentence);
  figures(FigureSection::answer);
  if (!brief(Brevity::encodings))
    document_.table(answer_table(run_));
  else if (!brief(Brevity::most))
    document_.table(brief_answer(run_));
  text(answer_line(run_), Paragraph::Kind::note);
  if (run_.trained_elsewhere)
    text(
        "The model was trained elsewhere, once: seeds do not apply, and nothing is tested. More "
        "examples of the text make the numbers surer.");
  else if (run_.backends.contains("other"))
    text(imported_sentence(), Paragraph::Kind::note);
  else if (!run_.seeds.empty() && run_.seeds.size() < seeds_for_t)
    more_seeds();
  evidence("Verdicts");
  if (brief(Brevity::encodings)) document_.table(answer_table(run_));
  text(answer_words());
}

// Seeds may be added to those of which nothing was tested. Where something was, to go on until a
// difference is called makes false calls more frequent, so that the next seeds stand alone.
void Page::more_seeds() {
  const bool tested = run_.seeds.size() >= fewest_seeds;
  std::set<std::uint64_t> next = run_.seeds;
  if (tested) next.clear();
  for (std::uint64_t seed = *run_.seeds.rbegin() + 1; next.size() < seeds_for_t; ++seed)
    next.insert(seed);
  const Span command = code(fmt::format("pesuite run SUITE --seeds {}", fmt::join(next, ",")));
  if (tested)
    text(
        rich("{} seeds decide little; {} tests {} fresh ones. Seeds added to these after a look "
             "would make false calls more frequent.",
             std::to_string(run_.seeds.size()), command, std::to_string(seeds_for_t)));
  else
    text(rich("{}: nothing is tested; {} adds what is missing.",
              run_.seeds.size() == 1 ? "One seed" : "Two seeds", command));
}

void Page::claims(const std::vector<Judged>& judged) {
  if (judged.empty()) return;
  heading(2, "Claims", Depth::screen);
  document_.figures(figures_of(FigureSection::claims, {run_, across_, nullptr, "", &judged}));
  document_.list(hypothesis_lines(judged));
  evidence("Tests of the claims");
  tables(hypotheses_table(judged));
}

// One figure and one table on the page; all else is evidence.
void Page::task(std::size_t i) {
  const TaskData& t = run_.tasks[i];
  heading(2, title_of(t), brief(Brevity::tasks) ? Depth::evidence : task_depth());
  text(trained_sentence(run_, t));
  if (!t.corpus && !t.problem) text("Nothing was evaluated.");
  std::vector<Figure> figures = figures_of(FigureSection::task, {run_, across_, &t});
  const auto more = std::find_if(figures.begin() + (figures.empty() ? 0 : 1), figures.end(),
                                 [](const Figure& f) { return f.beside.empty(); });
  document_.figures({figures.begin(), more});  // the first, on both scales
  figures.erase(figures.begin(), more);
  if (brief(Brevity::tables)) evidence("Values");
  document_.table(main_table(run_, t, contests_[i]));
  evidence("Setup");
  text(task_sentence(run_, t));
  text(untrained_sentence(run_, t));
  if (!figures.empty()) evidence("More figures");
  document_.figures(std::move(figures));
  for (const std::string& protocol : t.protocols) {
    evidence("Protocol " + protocol);
    document_.figures(figures_of(FigureSection::protocol, {run_, across_, &t, protocol}));
    tables(length_table(run_, t, protocol));
  }
  if (t.problem) {
    evidence("Settings");
    tables(problem_table(run_, t));
  }
  if (TableFile more = generalisation_table(run_, t); !more.blocks.empty()) {
    evidence("Over length");
    document_.figures(figures_of(FigureSection::length, {run_, across_, &t}));
    tables(std::move(more));
  }
  recall(t);
  pairs(i);
  probes(t);
  if (auto curves = figures_of(FigureSection::learning, {run_, across_, &t}); !curves.empty()) {
    evidence("Learning");
    document_.figures(std::move(curves));
    tables(learning_table(run_, t));
  }
}

void Page::recall(const TaskData& t) {
  TableFile table = recall_table(run_, t);
  if (table.blocks.empty()) return;
  evidence("Recall by distance");
  document_.figures(figures_of(FigureSection::recall, {run_, across_, &t}));
  tables(std::move(table));
}

void Page::pairs(std::size_t i) {
  const TaskData& t = run_.tasks[i];
  const std::vector<Text> findings = task_findings(run_, t, contests_[i]);
  TableFile pairs = duel_table(run_, t, contests_[i]);
  if (findings.empty() && pairs.blocks.empty()) return;
  evidence("Pairs");
  document_.list(findings);
  text(
      "Differences are paired by seed; p-values are those after Holm and Shaffer over all pairs "
      "and lengths.");
  tables(std::move(pairs));
}

void Page::probes(const TaskData& t) {
  TableFile probes = probe_table(run_, t), alike = attention_table(run_, t);
  std::vector<Figure> maps = figures_of(FigureSection::probes, {run_, across_, &t});
  if (!probes.blocks.empty() || !maps.empty()) {
    evidence("Probes");
    tables(std::move(probes));
    if (!alike.blocks.empty()) tables(std::move(alike));
    document_.figures(std::move(maps));
  }
  if (TableFile predictions = prediction_table(run_, t); !predictions.blocks.empty()) {
    evidence("Predictions");
    tables(std::move(predictions));
  }
}

// Ranks need several tasks before they say anything.
void Page::across() {
  TableFile table = across_table(run_, across_), weighted = weighted_table(run_);
  std::vector<Figure> over = figures_of(FigureSection::over_tasks, {run_, across_});
  if (table.blocks.empty() && weighted.blocks.empty() && over.empty()) return;
  constexpr std::size_t enough = 5;
  const bool ranks = across_.tasks.size() >= enough && across_.p < 0.05;
  heading(2, "Over all tasks");
  if (brief(Brevity::most)) evidence("Scores");
  document_.figures(std::move(over));
  tables(std::move(weighted));
  if (!ranks) evidence("Ranks");
  document_.list(across_findings(run_, across_));
  figures(FigureSection::ranks);
  tables(std::move(table));
}

void Page::cost() {
  TableFile table = cost_table(run_);
  if (table.blocks.empty()) return;
  heading(2, "Cost");
  if (brief(Brevity::encodings)) {
    document_.table(brief_cost(run_));
    evidence("Parameters and time");
  }
  document_.table(table.blocks[0]);
  evidence("Speed and memory");
  figures(FigureSection::cost);
  table.blocks.erase(table.blocks.begin());
  if (table.blocks.empty()) return;
  tables(std::move(table));
}

void Page::trust(const std::vector<Judged>& judged) {
  TableFile failures = failure_table(run_);
  heading(2, "Trust", failures.blocks.empty() ? Depth::page : Depth::screen);
  text(cells_sentence(run_));
  if (!brief(Brevity::encodings) && !failures.blocks.empty()) document_.table(failures.blocks[0]);
  text(seeds_sentence(run_));
  if (const Discoveries d = discoveries(run_, contests_, judged); d.tests > 0)
    text(
        fmt::format("{} in {} of tests, each at 5 %; of {} called, {} stay by Benjamini and "
                    "Hochberg over all.",
                    counted(d.tests, "difference"),
                    d.families == 1 ? "1 family" : fmt::format("{} families", d.families),
                    counted(d.called, "difference"), d.kept));
  if (brief(Brevity::encodings) && !failures.blocks.empty()) {
    evidence("Failures");
    document_.table(failures.blocks[0]);
  }
  if (!failures.blocks.empty()) tables_.push_back(std::move(failures));
  evidence("Environment");
  text(context_sentence(run_));
  if (run_.epoch > 0 && run_.epoch != numerics_epoch)
    text(
        fmt::format("Computed in numerics epoch {}; this program computes in epoch {}, where equal "
                    "settings can give other last digits.",
                    run_.epoch, numerics_epoch));
  tuning();
  encodings();
}

// What was tried and chosen, and that all encodings had as many attempts.
void Page::tuning() {
  if (!run_.tuning.is_object()) return;
  evidence("Tuning");
  figures(FigureSection::tuning);
  document_.table(tuning_table(run_));
}

void Page::encodings() {
  evidence("Encodings");
  Table b{"", "", {{"encoding", "expression in full", "plugin"}}, 3};
  for (std::size_t i = 0; i < run_.encodings.size(); ++i) {
    std::map<std::string, std::vector<std::string>> tasks;  // by expression: tuning may differ
    for (const TaskData& t : run_.tasks)
      if (const auto it = t.encoded.find(i); it != t.encoded.end())
        tasks[it->second].push_back(t.task);
    for (const auto& [expression, on] : tasks)
      if (!expression.empty())
        b.rows.push_back({run_.encodings[i] + (tasks.size() > 1 ? " on " + join(on, ", ") : ""),
                          code(expression), run_.plugins[i]});
  }
  document_.table(std::move(b));
}

void Page::data() {
  heading(2, "Data");
  std::vector<Text> items = {
      rich("{}: every observation; {} in this folder writes all else anew.",
           link("records.jsonl", "records.jsonl"), code("pesuite report .")),
      rich("{}: tables as Markdown, LaTeX and CSV; {}: figures with data and script.",
           code("tables/"), code("figures/"))};
  if (run_.references)
    items.push_back(rich("{}: BibTeX of the encodings and tasks used.",
                         link("references.bib", "references.bib")));
  document_.list(std::move(items));
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

constexpr std::size_t most_lines_of_page = 120;

// Of report.md with every figure drawn.
std::size_t lines_of_page(const Document& document) {
  Pictures pictures;
  for (const Figure* f : document.all_figures()) pictures[f->name];
  std::size_t lines = 0;
  for (const Renderer& r : renderers()) {
    if (r.extension != "md") continue;
    const std::string page = r.pages(document, pictures).at("report.md");
    lines = static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n'));
  }
  return lines;
}

// Tables and figures that this run had when it knew less, and has no more.
void remove_earlier_files(const fs::path& folder, const std::vector<TableFile>& tables,
                          const std::vector<const Figure*>& figures) {
  std::set<std::string> kept;
  for (const Figure* f : figures) kept.insert(f->name);
  remove_earlier(folder / "figures", kept, {"tsv", "gp"},
                 {"tsv", "gp", "svg", "pdf", "png", "tex"});
  kept.clear();
  for (const TableFile& t : tables) kept.insert(t.name);
  std::vector<std::string> extensions;
  for (const Renderer& r : renderers())
    if (r.table) extensions.push_back(r.extension);
  remove_earlier(folder / "tables", kept, extensions, extensions);
}

}  // namespace

ReportResult write_report(const fs::path& folder, const ReportOptions& options) {
  RunData run = read_run(folder);
  const std::vector<Judged> judged = judge_all(run, options.expect);
  ReportResult result{folder / "report.md", "", to_json(run, judged), {}, run.notes};
  Page page(run);
  for (const Brevity b :
       {Brevity::none, Brevity::tables, Brevity::tasks, Brevity::encodings, Brevity::most}) {
    page.write(judged, b);
    if (lines_of_page(page.document()) <= most_lines_of_page) break;
  }
  const Document& document = page.document();
  result.screen = terminal(document.at(Depth::screen));
  write_file_atomic(folder / "hypotheses.json", result.verdicts.dump(1) + "\n");
  std::vector<std::string> formats = options.formats;
  if (std::find(formats.begin(), formats.end(), "svg") == formats.end())
    formats.push_back("svg");  // what pages show
  const Drawn drawn = draw(document.all_figures(), folder / "figures", plots_folder(), formats);
  result.figures = drawn.files;
  result.notes.insert(result.notes.end(), drawn.notes.begin(), drawn.notes.end());
  const Pictures pictures = pictures_in(folder / "figures", document.all_figures());
  const std::vector<TableFile> tables = page.tables();
  remove_earlier_files(folder, tables, document.all_figures());
  for (const Renderer& r : renderers()) {
    for (const TableFile& t : r.table ? tables : std::vector<TableFile>())
      write_file_atomic(folder / "tables" / fmt::format("{}.{}", t.name, r.extension), r.table(t));
    if (!r.pages || (r.when == Renderer::When::asked && !options.slides)) continue;
    for (const auto& [name, text] : r.pages(document, pictures))
      write_file_atomic(folder / name, text);
  }
  return result;
}

bool report_exists(const fs::path& run) {
  return fs::exists(run / "report.md");
}

}  // namespace pesuite
