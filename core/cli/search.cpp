// search: numbers of an encoding, found on a trained model.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "cell/cell.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/checkpoint.h"
#include "cli/steps.h"
#include "run/run.h"
#include "search/search.h"

namespace pesuite::cli {

namespace {

void add_flags(Arguments& a) {
  a.flags()("checkpoint", po::value<std::string>(),
            "of a model trained with what it extends, or a folder in Hugging Face's layout")(
      "data", po::value<std::string>(),
      "text to search on: a folder that 'data tokenize' made with the model's tokenizer")(
      "length", po::value<int>(), "tokens to search for (default: 4x of the training length)")(
      "examples", po::value<int>()->default_value(16), "documents, or examples, of the search set")(
      "protocol", po::value<std::string>()->default_value("non_overlapping"),
      ("of corpora: " + protocol_examples()).c_str())("task", po::value<std::string>(),
                                                      "another task of the same alphabet")(
      "out", po::value<std::string>(), "file to write (default: ENCODING.txt)")(
      "iterations", po::value<int>()->default_value(40), "rounds of mutation and crossover")(
      "population", po::value<int>()->default_value(64), "lists at first")(
      "parents", po::value<int>()->default_value(32), "the best, which live on in each round")(
      "mutations", po::value<int>()->default_value(16), "in each round")(
      "crossovers", po::value<int>()->default_value(16), "in each round")("step", real_value(0.01),
                                                                          "of the grid of numbers")(
      "seed", po::value<std::uint64_t>()->default_value(0), "of the search's draws")(
      "precision", po::value<std::string>(), "fp32, bf16 or, on cuda, fp16 (default: the model's)")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "json", po::bool_switch(), "one JSON object instead of a table");
  a.positional("encoding");
}

// A trained model's loss on a fixed set, with another encoding in it.
class Bench {
 public:
  Bench(const Arguments& a, const Catalog& catalog)
      : named_(a.text("checkpoint")),
        cell_(named_.with_text(a.text("data"), a.has("task"))),
        catalog_(catalog) {
    length_ = a.count("length", 1, 4 * cell_.train.length);
    config_.lengths = {length_};
    config_.examples = a.count("examples", 1);
    config_.split = PES_SPLIT_VALIDATION;
    config_.protocols = {parse_protocol(a.text("protocol"))};
    config_ = eval_config_of(cell_, config_);
    task_.emplace(evaluated_task(catalog, cell_, a.text("task", cell_.task), config_));
    if (part_of(cell_, catalog, a.text("task", cell_.task)) > 0)
      fail(Exit::usage, "--task '{}' was mixed into the training; search on the cell's own, '{}'",
           task_->text(), cell_.task);
    const int threads = a.threads() > 0 ? a.threads() : default_jobs(1);
    const Precision precision =
        a.has("precision") ? parse_precision(a.text("precision")) : cell_.precision;
    backend_ = open_backend(cell_.backend, {.threads = threads, .precision = precision});
  }
  int length() const { return length_; }
  const CellConfig& cell() const { return cell_; }
  ModelShape shape() const { return shape_of(cell_.model, cell_.train.length, length_); }
  // Nats a target; of problems whose nats mean nothing, the share of errors.
  double loss(const std::string& encoding) {
    Model model(*backend_, model_of(cell_), compose(catalog_, encoding, shape()), cell_.seed,
                named_.use());
    named_.load(model);
    for (const Observation& o :
         evaluate(model, *task_, config_, length_, cell_.seed, named_.trained().step))
      if (o.metric == "nll" && o.whole())
        return std::isfinite(o.value) ? o.value : std::numeric_limits<double>::infinity();
    fail(Exit::internal, "the evaluation of '{}' has no nats", task_->text());
  }

 private:
  NamedModel named_;
  CellConfig cell_;
  const Catalog& catalog_;
  int length_ = 0;
  EvalConfig config_;
  std::optional<Task> task_;
  std::unique_ptr<Backend> backend_;
};

EvolutionConfig evolution_of(const Arguments& a) {
  EvolutionConfig c;
  c.iterations = a.count("iterations");
  c.population = a.count("population", 2);
  c.parents = a.count("parents", 2);
  c.mutations = a.count("mutations");
  c.crossovers = a.count("crossovers");
  c.step = a.get<double>("step");
  return c;
}

// What the encoding's file option reads: numbers, a line each; the factor as a setting.
std::string file_text(const SearchRule& rule, const SearchResult& r, const Bench& bench) {
  std::string text = fmt::format(
      "# {} for '{}', found by pesuite search on a model of '{}' trained at {} tokens with '{}'\n"
      "# {:.6f} nats at {} tokens; it began with",
      rule.list, rule.encoding, bench.cell().task, bench.cell().train.length,
      encoding_of(bench.cell()), r.best.loss, bench.length());
  for (const auto& t : r.from) text += fmt::format("\n#   {:.6f} {}", t.loss, t.expression);
  text += fmt::format("\n{} = {}\n", rule.factor, r.factor);
  for (const double x : r.list) text += fmt::format("{}\n", x);
  return text;
}

void print(const SearchResult& r, const fs::path& out, const std::string& use) {
  std::vector<std::vector<std::string>> rows = {{"nats", "encoding"}};
  for (const auto& t : r.from) rows.push_back({format_fixed(t.loss, 6), t.expression});
  rows.push_back({format_fixed(r.best.loss, 6), use});
  fmt::print("{}\n{} lists tried; written to {}\n", plain_table(rows), r.tried, out.string());
}

Json to_json(const SearchResult& r, const fs::path& out) {
  Json from = Json::array();
  for (const auto& t : r.from) from.push_back({{"encoding", t.expression}, {"nats", t.loss}});
  return {{"schema", 1},
          {"from", from},
          {"best", {{"encoding", r.best.expression}, {"nats", r.best.loss}}},
          {"list", r.list},
          {"factor", r.factor},
          {"tried", r.tried},
          {"file", out.string()}};
}

}  // namespace

int search_verb(const std::vector<std::string>& words) {
  Arguments a("search ENCODING --checkpoint FILE [flags]",
              "Searches, on a trained model, for the numbers of an encoding that extends it, and "
              "writes them\nto a file that the encoding reads. Evolutionary, as Ding et al. 2024; "
              "never worse on its data\nthan the encodings it begins with. Data of the validation "
              "split, so that tests stay fair.");
  add_flags(a);
  if (!a.parse(words)) return 0;
  a.require("encoding", "the encoding to search");
  a.require("checkpoint", "the trained model");
  const Catalog catalog = catalog_of(a);
  const Expression wanted = parse_expression(a.text("encoding"));
  const SearchRule rule = search_rule(catalog, wanted.name);
  Bench bench(a, catalog);
  const fs::path out = a.text("out", rule.encoding + ".txt");
  const EvolutionConfig evolution = evolution_of(a);
  std::optional<Steps> steps(std::in_place, fmt::format("search {}: first lists", wanted.name));
  const auto heard = [&](int i, const Individual& best) {
    steps->at(fmt::format("search {}: round {} of {}, best {:.6f} nats", wanted.name, i,
                          evolution.iterations, best.loss));
    return true;
  };
  const Sum trained = parse_encoding(encoding_of(bench.cell())).first;
  const SearchResult r = search(
      catalog, rule, wanted, trained, bench.shape(), bench.length(), evolution,
      a.get<std::uint64_t>("seed"),
      [&](const std::string& encoding) { return bench.loss(encoding); }, heard);
  steps.reset();
  write_file_atomic(out, file_text(rule, r, bench));
  if (a.flag("json"))
    fmt::print("{}\n", to_json(r, out).dump());
  else
    print(r, out, in_place(trained, rule, {rule.encoding, {{rule.file, out.string()}}}));
  return 0;
}

}  // namespace pesuite::cli
