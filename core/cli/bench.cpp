#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/choice.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/bench_against.h"
#include "cli/catalog.h"
#include "cli/steps.h"
#include "report/gnuplot.h"
#include "report/overhead.h"
#include "run/environment.h"
#include "run/run.h"

namespace pesuite::cli {

namespace {

struct Kind {
  const char *name, *help;
  std::vector<std::string> lengths;  // default
};

const std::vector<Kind>& bench_kinds() {
  static const std::vector<Kind> all = {
      {"train", "training steps: tokens/s, FLOP/s, share of the machine's own peak", {}},
      {"eval", "forward passes over length", {"256", "1024", "4096", "16384"}},
      {"generate", "prompts, and tokens behind a cache", {"512", "2048"}},
      {"attention", "one attention alone, forward and backward, by slot", {"1024", "4096"}},
      {"overhead", "what each encoding adds to a forward pass", {"4096"}},
      {"profile", "time by kernel of a training step", {}},
      {"model", "the least time of a training step on a GPU that need not be there", {}}};
  return all;
}

// Nothing is measured: the kernels of a device that need not be there are counted.
bool is_counted(const Kind& kind) {
  return kind.name == std::string_view("model");
}

const Kind& kind_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Kind& k : bench_kinds()) {
    if (k.name == name) return k;
    names.emplace_back(k.name);
  }
  fail(Exit::usage, "there is no benchmark '{}'{}; known are {}", name, did_you_mean(name, names),
       join(names, ", "));
}

// Words of flags that may be repeated or hold a list: commas inside parentheses do not part.
std::vector<std::string> listed(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& w : words) {
    int depth = 0;
    std::string part;
    for (const char c : w + ",") {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c != ',' || depth > 0) {
        part += c;
        continue;
      }
      if (!trim(part).empty()) out.push_back(trim(part));
      part.clear();
    }
  }
  return out;
}

std::string about() {
  std::string text =
      "Times the program on this machine. What is compared runs in turn, window by window; shown "
      "are\n"
      "medians with quartiles, and the share of what a large product reaches in the same "
      "run.\n\nkinds:";
  for (const Kind& k : bench_kinds()) text += fmt::format("\n  {:<22} {}", k.name, k.help);
  return text;
}

void add_flags_of_bench(Arguments& a) {
  a.flags()("config", po::value<std::string>()->default_value("B"),
            "A, B, C or G (docs/performance.md), or a model preset; with other sizes: "
            "'B(width=512, batch=4)'")(
      "encoding", po::value<std::vector<std::string>>()->composing(),
      "expressions, with commas between them (default none; overhead: all)")(
      "lengths", po::value<std::vector<std::string>>()->composing(), "tokens, e.g. 1024,4096")(
      "slots", po::value<std::vector<std::string>>()->composing(),
      "of attention: none, rotary, distance, bias, rewrite (default all)")(
      "device", po::value<std::string>()->default_value("cpu"),
      "cpu, cuda, auto or reference; of model: a100, h100, h200, b200, l40s or rtx5090")(
      "dtype", po::value<std::string>(),
      "of products: fp32, bf16 or, on cuda, fp16 (default bf16 on cuda)")(
      "threads", po::value<int>()->default_value(0), "threads; 0: all cores")(
      "repetitions", po::value<int>()->default_value(9), "windows of each")(
      "window", real_value(0.3), "seconds of a window")("json", po::bool_switch(),
                                                        "the format of Google Benchmark on stdout")(
      "out", po::value<std::string>(), "the same into a file")(
      "figures", po::value<std::string>(),
      "of overhead: folder of a figure, bars by encoding and length");
  a.positional("kind");
}

bench::Settings settings_of(const Arguments& a, const Kind& kind, const Catalog& catalog) {
  bench::Settings s;
  s.config = a.text("config");
  std::optional<Precision> asked;
  if (a.has("dtype")) asked = parse_precision(a.text("dtype"));
  const Choice device = is_counted(kind) ? Choice{"cpu", asked.value_or(Precision::bf16), {}}
                                         : choose_backend(a.text("device"), asked);
  s.backend = device.backend, s.precision = device.precision;
  for (const std::string& note : device.notes) fmt::print(stderr, "note: {}\n", note);
  s.threads = a.threads() > 0 ? a.threads() : default_jobs(1);
  s.plan.repetitions = a.count("repetitions", 1);
  s.plan.window = a.get<double>("window");
  if (!(s.plan.window >= 0 && s.plan.window <= 3600))
    fail(Exit::usage, "--window {}: wants seconds, 0 to 3600", s.plan.window);
  s.encodings = listed(a.texts("encoding"));
  if (s.encodings.empty() && kind.name == std::string_view("overhead"))
    s.encodings = catalog.encoding_names();
  if (s.encodings.empty()) s.encodings = {"none"};
  for (const std::string& l : a.has("lengths") ? listed(a.texts("lengths")) : kind.lengths) {
    const std::optional<int> tokens = l.ends_with("x") ? std::nullopt : parse_length(l, 1);
    if (!tokens)
      fail(Exit::usage, "--lengths: '{}' is no length; write whole tokens, at most {}", l,
           longest_length);
    s.lengths.push_back(*tokens);
  }
  s.slots = a.has("slots") ? listed(a.texts("slots")) : bench::attention_slots();
  for (const std::string& slot : s.slots)
    if (const auto known = bench::attention_slots();
        std::find(known.begin(), known.end(), slot) == known.end())
      fail(Exit::usage, "--slots: there is no slot '{}'{}; known are {}", slot,
           did_you_mean(slot, known), join(known, ", "));
  return s;
}

bench::Result measured(std::string_view name, const Catalog& catalog, const bench::Settings& s,
                       const std::string& device) {
  return name == "train"       ? bench::bench_train(catalog, s)
         : name == "eval"      ? bench::bench_eval(catalog, s)
         : name == "generate"  ? bench::bench_generate(catalog, s)
         : name == "attention" ? bench::bench_attention(s)
         : name == "overhead"  ? bench::bench_overhead(catalog, s)
         : name == "model"     ? bench::bench_model(catalog, s, device)
                               : bench::bench_profile(catalog, s);
}

std::string opened(const bench::Settings& s) {
  return open_backend(s.backend, {.threads = s.threads, .precision = s.precision})->description();
}

// `backend`: what computed.
std::string json_of(const bench::Result& r, const Catalog& catalog, const bench::Settings& s,
                    const std::string& backend) {
  Json context = environment(catalog);
  context["date"] = utc_timestamp();
  context["executable"] = "pesuite";
  context["backend"] = backend;
  context["threads"] = s.threads;
  context["peak_flops_per_second"] = r.peak;
  context["peak_memory"] = r.memory;
  return bench::google_benchmark(r.timings, context).dump(1) + "\n";
}

void draw_overheads(const std::vector<bench::Slowdown>& all, const fs::path& folder) {
  RunData run;
  std::vector<Overhead> bars;
  for (const bench::Slowdown& s : all) {
    auto at = std::find(run.encodings.begin(), run.encodings.end(), s.encoding);
    if (at == run.encodings.end()) at = run.encodings.insert(at, s.encoding);
    bars.push_back({static_cast<std::size_t>(at - run.encodings.begin()),
                    s.length,
                    {100 * s.median, 100 * s.low, 100 * s.high},
                    {}});
  }
  run.expressions = run.encodings;
  Figure f = overhead_figure(run, bars);
  f.title = "time of a forward pass against none";
  f.caption =
      "Time of a forward pass against none, measured in turn. Bars: median over windows. Lines: "
      "95 % interval of the median.";
  fs::create_directories(folder);
  const Drawn drawn = draw({&f}, folder, plots_folder());
  for (const fs::path& file : drawn.files) fmt::print(stderr, "wrote {}\n", file.string());
  for (const std::string& note : drawn.notes) fmt::print(stderr, "note: {}\n", printable(note));
}

}  // namespace

int bench_verb(const std::vector<std::string>& words) {
  std::vector<std::string> kinds;
  for (const Kind& k : bench_kinds()) kinds.emplace_back(k.name);
  Arguments a(fmt::format("bench {} [flags]", join(kinds, "|")), about());
  add_flags_of_bench(a);
  add_flags_of_comparison(a);
  if (!a.parse(words)) return 0;
  a.require("kind",
            "what to measure (train, eval, generate, attention, overhead, profile or model)");
  const Kind kind = kind_of(a.text("kind"));
  if (a.has("figures") && kind.name != std::string_view("overhead"))
    fail(Exit::usage, "--figures draws what each encoding adds; it goes with 'bench overhead'");
  if (a.has("against")) return bench_against(a);
  const Catalog catalog = catalog_of(a);
  bench::Settings s = settings_of(a, kind, catalog);
  std::optional<Steps> steps(std::in_place, fmt::format("bench {}: preparing", kind.name));
  s.plan.progress = [&](const std::string& what) {
    steps->at(fmt::format("bench {}: {}", kind.name, what));
  };
  const bench::Result r = measured(kind.name, catalog, s, a.text("device"));
  steps.reset();
  const std::string json = json_of(r, catalog, s, is_counted(kind) ? a.text("device") : opened(s));
  if (a.has("figures") && !r.slowdowns.empty()) draw_overheads(r.slowdowns, a.text("figures"));
  if (a.has("out")) write_file_atomic(a.text("out"), json);
  if (a.flag("json")) {
    fmt::print("{}", json);
    return 0;
  }
  if (is_counted(kind)) {
    fmt::print("{}", r.table);
    return 0;
  }
  fmt::print("{}\n{}, {}, {}", r.table, s.backend, precision_name(s.precision),
             counted(static_cast<std::size_t>(s.threads), "thread"));
  if (r.peak > 0) fmt::print("; peak of a large product {:.0f} GFLOP/s", 1e-9 * r.peak);
  fmt::print("; peak memory of the process {}\n", format_bytes(r.memory));
  return 0;
}

}  // namespace pesuite::cli
