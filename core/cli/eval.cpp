// eval: a checkpoint over lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/text.h"
#include "cell/cell.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/checkpoint.h"
#include "cli/steps.h"
#include "report/figures/attention.h"
#include "report/gnuplot.h"
#include "run/run.h"

namespace pesuite::cli {

namespace {

std::vector<int> lengths_of(const Arguments& a, int train_length) {
  std::set<int> out;
  if (a.has("lengths")) {
    for (const std::string& l : split(a.text("lengths"), ',')) {
      const auto tokens = parse_lengths(l, train_length);
      if (!tokens)
        fail(Exit::usage,
             "--lengths: '{}' is no length; write whole tokens (at most {}), a multiple of the "
             "training length, {}, such as 4x, or a range such as 1..20",
             l, longest_length, train_length);
      out.insert(tokens->begin(), tokens->end());
    }
  } else {
    const int longest = a.count("max-length", 1, 8 * train_length);
    for (std::int64_t l = train_length; l <= longest; l *= 2) out.insert(static_cast<int>(l));
    out.insert(longest);
  }
  return {out.begin(), out.end()};
}

// The model, in the symbols of the part that is evaluated.
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
  std::vector<std::vector<std::string>> rows = {{"length", "setting", "nats", "perplexity",
                                                 "regret", "accuracy", "chance", "exact", "ranked",
                                                 "n"}};
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, const Observation*>> found;
  for (const Observation& o : all) {
    if (o.coords.contains("pos_lo") || o.coords.contains("dist_lo") || o.metric == "untrained")
      continue;
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
                    number_or_dash(value("em"), 4), number_or_dash(value("candidate_acc"), 4),
                    std::to_string(m.begin()->second->n)});
  }
  fmt::print("{}", plain_table(rows));
}

std::vector<int> whole_numbers(const Arguments& a, const char* flag) {
  std::vector<int> out;
  for (const std::string& text :
       a.has(flag) ? split(a.text(flag), ',') : std::vector<std::string>())
    if (double x = 0; parse_count(trim(text), x) && x >= 0 && x == std::floor(x) && x < 1 << 24)
      out.push_back(static_cast<int>(x));
    else
      fail(Exit::usage, "--{}: '{}' is no whole number from 0 on", flag, text);
  return out;
}

// What is looked at instead of an evaluation.
std::vector<ProbeConfig> probes_of(const Arguments& a, int train_length) {
  std::vector<ProbeConfig> out;
  ProbeConfig p;
  p.offsets = a.has("offsets") ? whole_numbers(a, "offsets") : std::vector<int>{train_length};
  if (a.has("kept")) p.kept = whole_numbers(a, "kept");
  p.bands = a.count("bands", 1);
  p.example = a.count("example");
  p.layers = whole_numbers(a, "layers"), p.heads = whole_numbers(a, "heads");
  for (const std::string& name :
       a.has("probe") ? split(a.text("probe"), ',') : std::vector<std::string>()) {
    p.kind = parse_probe(trim(name));
    out.push_back(p);
  }
  for (const char* flag : {"offsets", "kept", "layers", "heads"})
    if (a.has(flag) && out.empty())
      fail(Exit::usage, "--{} is a setting of --probe, which is not given", flag);
  return out;
}

// One row a number, in the order that they were found in.
void print_probes(const std::vector<Observation>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"length", "probe", "where", "metric", "value", "stderr", "unit", "n"}};
  for (const Observation& o : all) {
    std::vector<std::string> where;
    for (const auto& [name, v] : o.coords.items())
      if (name == "protocol")
        where.push_back(v.get<std::string>());
      else if (name != "train_len" && name != "eval_len" && name != "probe" && name != "bands")
        where.push_back(fmt::format("{} {:.4g}", name, v.get<double>()));
    rows.push_back({o.coords.at("eval_len").dump(), o.coords.at("probe").get<std::string>(),
                    join(where, ", "), o.metric, number_or_dash(o.value, 4),
                    number_or_dash(o.standard_error, 4), o.unit, std::to_string(o.n)});
  }
  fmt::print("{}", plain_table(rows));
}

// Maps of attention as files and as pictures.
void draw_maps(Model& model, const Task& task, const EvalConfig& config, const ProbeConfig& p,
               int length, std::uint64_t seed, std::int64_t steps, const fs::path& folder,
               const std::string& title) {
  const std::string name = fmt::format("attention_{}_{}", length, p.example);
  const fs::path file = folder / (name + ".safetensors");
  write_maps(file, model, task, config, p, length, seed, steps, {});
  fmt::print(stderr, "wrote {}\n", file.string());
  const Figure figure = attention_figure(file, name, title);
  const Drawn drawn = draw({&figure}, folder, plots_folder());
  for (const fs::path& f : drawn.files) fmt::print(stderr, "wrote {}\n", f.string());
  for (const std::string& note : drawn.notes) fmt::print(stderr, "note: {}\n", printable(note));
}

void add_flags_of_eval(Arguments& a) {
  a.flags()("checkpoint", po::value<std::string>(), "the same as the positional argument")(
      "lengths", po::value<std::string>(),
      "tokens, multiples of the training length or ranges, e.g. 256,4x,1..20 (default: "
      "1x,2x,4x,8x)")("max-length", po::value<int>(), "double from the training length up to this")(
      "protocol", po::value<std::vector<std::string>>()->composing(),
      ("of corpora: " + protocol_examples()).c_str())(
      "encoding", po::value<std::string>(),
      "encodings to swap in, e.g. 'NAME(option=5) + OTHER'; options that are not written are the "
      "model's (default: those that trained)")(
      "task", po::value<std::string>(),
      "other tasks of the same alphabet, with commas, e.g. \"text(path='other')\"; of models of "
      "text: "
      "perplexity,needle,passkey")(
      "data", po::value<std::string>(),
      "text to evaluate on: a folder that 'data tokenize' made with the model's tokenizer")(
      "axis", po::value<std::vector<std::string>>()->composing(),
      "values of an axis of the task, e.g. depth=0,0.5,1 (default: drawn)")(
      "examples", po::value<int>()->default_value(64), "documents, or examples at each length")(
      "limit", po::value<int>(), "at most so many of them, for a quick look; --json says so")(
      "few-shot", po::value<int>()->implicit_value(3),
      "of problems: solved examples before each, three unless a number is given")(
      "seed", po::value<std::uint64_t>(), "seed of the examples (default: the model's)")(
      "backend", po::value<std::string>(), "cpu, reference, cuda (default: the model's)")(
      "precision", po::value<std::string>(), "fp32, bf16 or, on cuda, fp16 (default: the model's)")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "probe", po::value<std::string>(),
      "instead of an evaluation: attention, zeroed, offset, shuffled, position, bands, maps, "
      "generated, predictions; several with commas")(
      "offsets", po::value<std::string>(),
      "of probe offset: tokens to move by (default: the training length)")(
      "kept", po::value<std::string>(),
      "of probe shuffled: tokens before the first scored one that keep their order (default: 0)")(
      "bands", po::value<int>()->default_value(4), "of probe bands: how many")(
      "example", po::value<int>()->default_value(0), "of probe maps: which example")(
      "layers", po::value<std::string>(), "of probe maps, e.g. 0,1 (default: all)")(
      "heads", po::value<std::string>(), "of probe maps (default: all)")(
      "output", po::value<std::string>()->default_value("attention"),
      "of probe maps: folder of the files")("json", po::bool_switch(),
                                            "observations as JSON lines");
  a.positional("model");
}

// At commas that stand in no brackets or quotes.
std::vector<std::string> tasks_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    depth += quote != 0 ? 0 : c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0 && quote == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  for (std::string& t : out) t = trim(t);
  return out;
}

// "perplexity" is the model's own task; "needle" and "passkey" are asked as text, in its tokens.
std::string task_named(const std::string& name, const CellConfig& cell) {
  if (name == "perplexity" || name.empty()) return cell.task;
  if (name != "needle" && name != "passkey") return name;
  const std::string folder = shards_of(cell.task);
  if (folder.empty())
    fail(Exit::usage,
         "--task {}: is asked as text, of models that were trained on 'tokens'; this one was "
         "trained "
         "on '{}'",
         name, cell.task);
  Expression asked;
  asked.name = "text_" + name;
  asked.options["path"] = folder;
  return to_text(asked);
}

EvalAxis axis_of(const std::string& text) {
  const std::size_t equal = text.find('=');
  EvalAxis axis;
  axis.name = text.substr(0, equal);
  for (const std::string& v :
       equal == std::string::npos ? std::vector<std::string>() : split(text.substr(equal + 1), ','))
    if (double x = 0; parse_count(trim(v), x))
      axis.values.push_back(x);
    else
      fail(Exit::usage, "--axis: '{}' is no number", v);
  if (axis.values.empty())
    fail(Exit::usage, "--axis: '{}' is no axis with values; write depth=0,0.5,1", text);
  return axis;
}

int longest_of(const EvalConfig& c, const CellConfig& cell) {  // tokens of a sequence
  return c.longest() + c.most(shots_axis) * cell.train.length;
}

EvalConfig asked_of(const Arguments& a, const CellConfig& cell) {
  EvalConfig c;
  c.lengths = lengths_of(a, cell.train.length);
  c.examples = a.count("examples", 1);
  if (a.has("limit")) c.cut_to(a.count("limit", 1));
  if (const int shots = a.count("few-shot"); shots > 0)
    c.axes.push_back({shots_axis, {static_cast<double>(shots)}});
  for (const std::string& axis : a.texts("axis")) c.axes.push_back(axis_of(axis));
  for (const std::string& p :
       a.has("protocol") ? a.texts("protocol") : std::vector<std::string>{Protocol{}.text()})
    c.protocols.push_back(parse_protocol(p));
  return eval_config_of(cell, c);
}

// A checkpoint, and all that it takes to look at it.
class Evaluation {
 public:
  // `several`: of the values of axes each of the tasks takes those that it has.
  Evaluation(const Arguments& a, const std::string& task, bool several)
      : catalog_(catalog_of(a)),
        named_(a.has("checkpoint") ? a.text("checkpoint") : a.text("model")),
        cell_(named_.with_text(a.text("data"), !task.empty() && task.find('(') != task.npos)),
        config_(asked_of(a, cell_)),
        task_(evaluated_task(catalog_, cell_, task_named(task, cell_), config_, several)),
        seed_(a.get<std::uint64_t>("seed", cell_.seed)),
        loaded_(named_, catalog_, a, longest_of(config_, cell_)),
        part_(part_of(cell_, catalog_, task_named(task, cell_))) {}

  const CellConfig& cell() const { return cell_; }
  const std::string& task() const { return task_.text(); }
  int limit() const { return config_.limit; }
  bool is_mixed_in() const { return part_ > 0; }
  std::string heading() const {
    return fmt::format("{} on {}, trained at {} tokens{}", loaded_.encoding(), task_.text(),
                       cell_.train.length,
                       limit() > 0 ? fmt::format("; cut to {} examples each", limit()) : "");
  }

  std::vector<Observation> evaluated() {
    const Scorer mixed =
        is_mixed_in() ? scorer_of_part(cell_, catalog_, part_, loaded_.model()) : Scorer{};
    std::vector<Observation> all;
    each_length([&](int length) {
      append(all, mixed ? evaluate(mixed, task_, config_, length, seed_, named_.trained().step)
                        : evaluate(loaded_.model(), task_, config_, length, seed_,
                                   named_.trained().step));
    });
    return all;
  }

  // Files of maps come to lie in `folder`.
  std::vector<Observation> probed(const std::vector<ProbeConfig>& probes, const fs::path& folder) {
    std::vector<Observation> all;
    each_length([&](int length) {
      for (const ProbeConfig& p : probes) {
        check(p, loaded_.model().config(), length);
        if (p.kind != ProbeKind::maps)
          append(all,
                 probe(loaded_.model(), task_, config_, p, length, seed_, named_.trained().step));
        else
          draw_maps(loaded_.model(), task_, config_, p, length, seed_, named_.trained().step,
                    folder,
                    fmt::format("{} on {}, {} tokens",
                                loaded_.encoding().substr(0, loaded_.encoding().find('(')),
                                task_.text(), length));
      }
    });
    return all;
  }

 private:
  // Says meanwhile how far it is.
  void each_length(const std::function<void(int)>& body) const {
    Steps steps("evaluating");
    std::size_t reached = 0;
    for (const int length : config_.lengths) {
      steps.at(fmt::format("evaluating at {} tokens, length {} of {}", length, ++reached,
                           config_.lengths.size()));
      body(length);
    }
  }
  void append(std::vector<Observation>& all, std::vector<Observation> found) const {
    for (Observation& o : found) {  // what it took to get there
      const TrainState& trained = named_.trained();
      o.step = trained.step, o.tokens = trained.tokens;
      o.flops = trained.flops, o.seconds = trained.seconds;
    }
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }

  Catalog catalog_;
  NamedModel named_;
  CellConfig cell_;
  EvalConfig config_;
  Task task_;
  std::uint64_t seed_;
  LoadedModel loaded_;
  std::size_t part_;
};

// Evaluates or probes, and prints what was found.
void show(const Arguments& a, const std::string& task, bool several) {
  Evaluation evaluation(a, task, several);
  const std::vector<ProbeConfig> probes = probes_of(a, evaluation.cell().train.length);
  if (!probes.empty() && evaluation.is_mixed_in())
    fail(Exit::usage, "--probe looks at the cell's own task, '{}', not at one that is mixed in",
         evaluation.cell().task);
  const std::vector<Observation> all =
      probes.empty() ? evaluation.evaluated() : evaluation.probed(probes, a.text("output"));
  if (a.flag("json")) {
    for (const Observation& o : all) {
      Json j = to_json(o);
      if (several) j["task"] = evaluation.task();
      if (evaluation.limit() > 0) j["limit"] = evaluation.limit();
      fmt::print("{}\n", j.dump());
    }
    return;
  }
  fmt::print("{}\n\n", evaluation.heading());
  if (probes.empty())
    print_table(all);
  else if (!all.empty())
    print_probes(all);
}

}  // namespace

int eval_verb(const std::vector<std::string>& words) {
  Arguments a(
      "eval CHECKPOINT [flags]",
      "Evaluates a model over lengths: a checkpoint that 'train' wrote, a cell of a suite's run as "
      "RUN/ENCODING/TASK/MODEL/SEED (names that all cells share may be left out), or a "
      "folder in Hugging Face's layout.");
  add_flags_of_eval(a);
  if (!a.parse(words)) return 0;
  if (!a.has("checkpoint")) a.require("model", "the checkpoint");
  const std::vector<std::string> tasks = tasks_of(a.text("task"));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0 && !a.flag("json")) fmt::print("\n");
    show(a, tasks[i], tasks.size() > 1);
  }
  return 0;
}

}  // namespace pesuite::cli
