// eval: a checkpoint over lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/checkpoint.h"
#include "suite/cell.h"
#include "suite/run.h"

namespace pesuite::cli {

namespace {

std::vector<int> lengths_of(const Arguments& a, int train_length) {
  std::set<int> out;
  if (a.has("lengths")) {
    for (const std::string& l : split(a.text("lengths"), ',')) {
      double x = 0;
      if (!parse_count(trim(l), x) || x < 1) fail(Exit::usage, "--lengths: '{}' is no length", l);
      out.insert(static_cast<int>(x));
    }
  } else {
    const int longest = a.count("max-length", 1, 8 * train_length);
    for (int l = train_length; l <= longest; l *= 2) out.insert(l);
    out.insert(longest);
  }
  return {out.begin(), out.end()};
}

// What the checkpoint is evaluated with.
std::string encoding_for(const Arguments& a, const Catalog& catalog, const CellConfig& cell) {
  if (!a.has("encoding")) return cell.evaluation.empty() ? encoding_of(cell) : cell.evaluation;
  const std::string text = a.text("encoding");
  const EncodingExpression x = parse_encoding(text);
  if (!x.switches.empty() || !x.evaluation.empty())
    fail(Exit::usage,
         "--encoding '{}': a checkpoint has been trained; give what to evaluate it with, such as "
         "'{}'",
         text, to_text(x.evaluation.empty() ? x.switches.back().to : x.evaluation));
  return to_text(x, full_terms(catalog, text));
}

// Which of the tasks that it was trained on this one is; 0: the cell's own, or a stranger that
// speaks its alphabet.
std::size_t part_of(const CellConfig& cell, const Catalog& catalog, const std::string& task) {
  const Expression x = parse_expression(task, "task");
  const std::string text =
      full_text(*catalog.task(x.name).descriptor->card, x.options, "task '" + x.name + "'");
  for (std::size_t i = 0; i < cell.mix.size(); ++i)
    if (cell.mix[i].task == text) return i + 1;
  return 0;
}

// The model for who speaks the symbols of such a task.
Scorer scorer_of_part(const CellConfig& cell, const Catalog& catalog, std::size_t part,
                      Model& model) {
  const Task own(catalog, parse_expression(cell.task, "task"), cell.train.length, cell.max_length);
  const std::vector<Task> mixed = make_mixed_tasks(catalog, cell);
  return make_mixture(own, mixed, cell.mix).scorer(part, model);
}

std::string number_or_dash(double x, int digits) {
  return std::isnan(x) ? "-" : format_fixed(x, digits);
}

// One row a length and setting.
void print_table(const std::vector<Observation>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"length", "setting", "nats", "perplexity", "regret", "accuracy", "chance", "n"}};
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, const Observation*>> found;
  for (const Observation& o : all) {
    if (o.coords.contains("pos_lo") || o.metric == "untrained") continue;
    const std::string key = o.coords.dump();
    if (!found.contains(key)) order.push_back(key);
    found[key][o.metric] = &o;
  }
  for (const std::string& key : order) {
    const auto& m = found[key];
    const auto value = [&](const char* metric) {
      return m.contains(metric) ? m.at(metric)->value : Observation::none;
    };
    const Json coords = Json::parse(key);
    std::vector<std::string> setting;
    for (const auto& [name, v] : coords.items())
      if (name != "train_len" && name != "eval_len")
        setting.push_back(name == "protocol" || name == "bucket"
                              ? v.get<std::string>()
                              : fmt::format("{}={}", name, v.dump()));
    const double nats = value("nll");
    rows.push_back({coords.at("eval_len").dump(), join(setting, " "), number_or_dash(nats, 4),
                    number_or_dash(std::exp(nats), 3), number_or_dash(value("regret"), 4),
                    number_or_dash(value("acc"), 4),
                    m.contains("acc") ? number_or_dash(m.at("acc")->chance, 4) : "-",
                    std::to_string(m.begin()->second->n)});
  }
  fmt::print("{}", plain_table(rows));
}

}  // namespace

int eval_verb(const std::vector<std::string>& words) {
  Arguments a("eval CHECKPOINT [flags]",
              "Evaluates a checkpoint that 'train' or 'run' wrote, over lengths.");
  a.flags()("checkpoint", po::value<std::string>(), "the same as the positional argument")(
      "lengths", po::value<std::string>(),
      "tokens, e.g. 256,512 (default: 1x, 2x, 4x, 8x of the training length)")(
      "max-length", po::value<int>(), "double from the training length up to this")(
      "protocol", po::value<std::vector<std::string>>()->composing(),
      "of corpora: non_overlapping, sliding(64), last(64)")(
      "encoding", po::value<std::string>(),
      "encodings to swap in, e.g. 'NAME(option=5) + OTHER' (default: those that trained)")(
      "task", po::value<std::string>(),
      "another task of the same alphabet, e.g. \"text(path='other')\"")(
      "examples", po::value<int>()->default_value(64), "documents, or examples at each length")(
      "seed", po::value<std::uint64_t>(), "seed of the examples (default: the model's)")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "json", po::bool_switch(), "observations as JSON lines");
  a.positional("model");
  if (!a.parse(words)) return 0;
  if (!a.has("checkpoint")) a.require("model", "the checkpoint");
  const fs::path file =
      find_checkpoint(a.has("checkpoint") ? a.text("checkpoint") : a.text("model"));
  const CellConfig cell = cell_from_json(Json::parse(checkpoint_identity(file)));

  EvalConfig config;
  config.train_length = cell.train.length;
  config.longest_trained = longest_trained(cell);
  config.lengths = lengths_of(a, cell.train.length);
  config.examples = a.count("examples", 1);
  const int longest = std::max(cell.max_length, config.lengths.back());
  const Catalog catalog = open_catalog(plugin_search_path(a.plugin_path()));
  for (const std::string& p :
       a.has("protocol") ? a.texts("protocol") : std::vector<std::string>{"non_overlapping"})
    config.protocols.push_back(parse_protocol(p));
  const Task task(catalog, parse_expression(a.text("task", cell.task), "task"), cell.train.length,
                  longest, reach(config));
  if (const std::int64_t documents = task.info().documents[config.split]; documents > 0)
    config.examples = static_cast<int>(std::min<std::int64_t>(config.examples, documents));
  const std::size_t part = part_of(cell, catalog, a.text("task", cell.task));
  // a mixture's alphabet holds more than one task's
  const bool fits = cell.mix.empty()
                        ? task.info().inputs == cell.model.vocabulary &&
                              task.info().outputs == cell.model.outputs()
                        : task.info().head == PES_LM && task.info().inputs <= cell.model.vocabulary;
  if (!fits)
    fail(Exit::usage, "task '{}' has {} tokens and {} classes, the model {} and {}", task.text(),
         task.info().inputs, task.info().outputs, cell.model.vocabulary, cell.model.outputs());
  check(config, task);

  const int threads = a.count("threads") > 0 ? a.count("threads") : default_jobs(1);
  const auto backend =
      open_backend(cell.backend, {.threads = threads, .precision = cell.precision});
  const std::string encoding = encoding_for(a, catalog, cell);
  // tables are as long as they were trained
  Model model(*backend, model_of(cell), make_encoding(catalog, encoding, cell), cell.seed);
  const std::int64_t steps = load_weights(file, model);
  const Scorer mixed = part > 0 ? scorer_of_part(cell, catalog, part, model) : Scorer{};
  const auto seed = a.get<std::uint64_t>("seed", cell.seed);
  std::vector<Observation> all;
  for (const int length : config.lengths)
    for (Observation& o : mixed ? evaluate(mixed, task, config, length, seed, steps)
                                : evaluate(model, task, config, length, seed, steps))
      all.push_back(std::move(o));
  if (a.flag("json")) {
    for (const Observation& o : all) fmt::print("{}\n", to_json(o).dump());
  } else {
    fmt::print("{} on {}, trained at {} tokens\n\n", encoding, task.text(), cell.train.length);
    print_table(all);
  }
  return 0;
}

}  // namespace pesuite::cli
