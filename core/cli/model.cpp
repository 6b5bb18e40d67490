// model: checkpoints in Hugging Face's layout.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/verbs.h"
#include "hf/golden.h"

namespace pesuite::cli {

namespace {

int golden_models_verb(const std::vector<std::string>& words) {
  Arguments a("model golden FOLDER [flags]",
              "Runs all cases below a folder: checkpoints beside an expected.json, which says what "
              "the published modelling code computes from them.\nThe last line counts them; exit "
              "code 4 where one failed.");
  a.flags()("backend", po::value<std::string>()->default_value("cpu,reference"),
            "cpu, reference, cuda; with commas")(
      "precision", po::value<std::string>()->default_value("fp32"), "fp32 or bf16")(
      "quiet", po::bool_switch(), "what failed and the last line alone");
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("folder", "the folder of cases");
  const fs::path folder = a.text("folder");
  if (!fs::is_directory(folder)) fail(Exit::data, "there is no folder {}", folder.string());
  std::vector<fs::path> cases;
  for (const auto& item : fs::recursive_directory_iterator(folder))
    if (item.path().filename() == "expected.json") cases.push_back(item.path().parent_path());
  std::sort(cases.begin(), cases.end());
  const Catalog catalog = catalog_of(a);
  const Precision precision = parse_precision(a.text("precision"));
  int passed = 0, failed = 0;
  for (const fs::path& c : cases)
    for (const std::string& backend : split(a.text("backend"), ','))
      for (const hf::GoldenRun& r : hf::golden_runs(catalog, c, backend, precision)) {
        ++(r.why.empty() ? passed : failed);
        if (!r.why.empty())
          fmt::print("failed  {}, {}: {}\n", r.name, backend, r.why);
        else if (!a.flag("quiet"))
          fmt::print("passed  {}, {}: logits {:.1e}, nats {:.1e}\n", r.name, backend, r.logits,
                     r.nats);
      }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed > 0 || passed == 0 ? static_cast<int>(Exit::plugin) : 0;
}

int model_info_verb(const std::vector<std::string>& words) {
  Arguments a("model info FOLDER [flags]",
              "What a checkpoint in Hugging Face's layout is: its sizes, and its encoding as an "
              "expression.");
  a.flags()("json", po::bool_switch(), "as JSON");
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("folder", "the checkpoint's folder");
  const hf::Published p = hf::read_config(a.text("folder"));
  const hf::WeightFiles files(a.text("folder"));
  const ModelConfig& m = p.model;
  const std::int64_t table = m.vocabulary;
  if (a.flag("json")) {
    const Json j = {{"type", p.type},         {"encoding", p.encoding},
                    {"context", p.context},   {"parameters", parameter_count(m)},
                    {"bytes", files.bytes()}, {"layers", m.layers},
                    {"width", m.width},       {"heads", m.heads},
                    {"kv_heads", m.groups()}, {"head_size", m.head_dim()},
                    {"ff_width", m.ff_width}, {"vocabulary", table},
                    {"window", m.window},     {"tied", m.tied}};
    fmt::print("{}\n", j.dump());
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"type", p.type},
      {"encoding", p.encoding},
      {"context", fmt::format("{} tokens", p.context)},
      {"weights", fmt::format("{} without the encoding's, {} in files",
                              format_count(static_cast<double>(parameter_count(m))),
                              format_bytes(static_cast<double>(files.bytes())))},
      {"layers", fmt::format("{} of width {}, {} units", m.layers, m.width, m.ff_width)},
      {"heads", fmt::format("{} of {} features, {} of keys", m.heads, m.head_dim(), m.groups())},
      {"vocabulary", fmt::format("{} tokens{}", table, m.tied ? ", tied" : "")}};
  if (m.window > 0) rows.push_back({"window", fmt::format("{} tokens", m.window)});
  fmt::print("{}", plain_table(rows));
  return 0;
}

constexpr Verb model_verbs[] = {
    {"info", "sizes, and the encoding as an expression", model_info_verb},
    {"golden", "compares with what the published code computes", golden_models_verb}};
constexpr Verbs of_model = {"pesuite model", "COMMAND", "Published checkpoints.",
                            "Then: pesuite model COMMAND --help", model_verbs};

}  // namespace

int model_verb(const std::vector<std::string>& words) {
  return call(of_model, words);
}

}  // namespace pesuite::cli
