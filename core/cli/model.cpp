// model: checkpoints in Hugging Face's layout, in and out.
#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/catalog.h"
#include "cli/checkpoint.h"
#include "cli/verbs.h"
#include "hf/export.h"
#include "hf/golden.h"
#include "text/tokenizer.h"

namespace pesuite::cli {

namespace {

int golden_models_verb(const std::vector<std::string>& words) {
  Arguments a("model golden FOLDER [flags]",
              "Runs all cases below a folder: checkpoints beside an expected.json, which says what "
              "the published modelling code computes from them.\nThe last line counts them; exit "
              "code 4 where one failed.");
  a.flags()("backend", po::value<std::string>()->default_value("cpu,reference"),
            "cpu, reference, cuda; with commas")(
      "precision", po::value<std::string>()->default_value("fp32"), "fp32, bf16 or, on cuda, fp16")(
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

static Json to_json(const hf::Published& p, std::uint64_t bytes) {
  const ModelConfig& m = p.model;
  return {{"type", p.type},
          {"encoding", p.encoding},
          {"context", p.context},
          {"parameters", parameter_count(m)},
          {"bytes", bytes},
          {"layers", m.layers},
          {"width", m.width},
          {"heads", m.heads},
          {"kv_heads", m.groups()},
          {"head_size", m.head_dim()},
          {"ff_width", m.ff_width},
          {"vocabulary", m.vocabulary},
          {"window", m.window},
          {"window_every", m.window_every},
          {"tied", m.tied},
          {"score_softcap", m.score_softcap},
          {"logit_softcap", m.logit_softcap}};
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
    fmt::print("{}\n", to_json(p, files.bytes()).dump());
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
  if (m.window > 0)
    rows.push_back(
        {"window", fmt::format("{} tokens{}", m.window,
                               m.window_every > 0 ? fmt::format("; none in layers {}, {}, ..",
                                                                m.window_every, 2 * m.window_every)
                                                  : "")});
  if (m.score_softcap > 0 || m.logit_softcap > 0)
    rows.push_back(
        {"softcaps", fmt::format("scores {}, logits {} (0: none)", format_number(m.score_softcap),
                                 format_number(m.logit_softcap))});
  fmt::print("{}", plain_table(rows));
  return 0;
}

// Files that the published programs read text by, of those that lie beside the model's own: their
// names.
std::set<std::string> copy_tokenizer(const NamedModel& named, const fs::path& to) {
  std::vector<fs::path> from;
  if (named.is_published()) {
    from.push_back(named.path());
  } else if (const fs::path folder = shards_of(named.cell().task); !folder.empty()) {
    from = {folder, folder / "tokenizer"};
  }
  std::set<std::string> copied;
  for (const fs::path& folder : from)
    for (const char* name :
         {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
          "merges.txt", "tokenizer.model", "generation_config.json"})
      if (fs::exists(folder / name)) {
        write_file_atomic(to / name, read_file(folder / name));
        copied.insert(name);
      }
  if (!copied.contains("tokenizer.json") && !copied.contains("vocab.json") &&
      !copied.contains("tokenizer.model"))
    fmt::print(stderr,
               "note: the model comes without a file tokenizer.json, vocab.json or "
               "tokenizer.model, so the folder holds none\n");
  return copied;
}

// What those programs want to know besides, where the model came without it: the class of the
// tokenizer, and the tokens that end a text, which are the result.
std::vector<std::int32_t> write_companions(const NamedModel& named, const fs::path& folder,
                                           const std::set<std::string>& copied, int context) {
  const fs::path file = folder / "tokenizer.json";
  const bool ours = !named.is_published() && copied.contains("tokenizer.json");
  const auto tokenizer = ours ? text::open_tokenizer(file.string()) : nullptr;
  const std::vector<std::int32_t> ends = named.ends(tokenizer.get());
  if (tokenizer && !copied.contains("tokenizer_config.json")) {
    Json j = {{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"model_max_length", context},
              {"clean_up_tokenization_spaces", false}};
    if (!ends.empty())
      j["eos_token"] = tokenizer->decode(std::vector{static_cast<text::Token>(ends[0])});
    write_file_atomic(folder / "tokenizer_config.json", j.dump(2) + "\n");
  }
  if (!ends.empty() && !copied.contains("generation_config.json")) {
    const Json j = {{"_from_model_config", true},
                    {"bos_token_id", ends[0]},
                    {"eos_token_id", ends.size() == 1 ? Json(ends[0]) : Json(ends)}};
    write_file_atomic(folder / "generation_config.json", j.dump(2) + "\n");
  }
  return ends;
}

// Where a table of positions ends.
std::optional<int> rows_of_table(Model& model) {
  for (const Parameter& p : model.parameters())
    if (p.name.starts_with("encoding.") && p.shape.rank() == 2) return static_cast<int>(p.shape[0]);
  return std::nullopt;
}

int export_model_verb(const std::vector<std::string>& words) {
  Arguments a(
      "model export CHECKPOINT FOLDER [flags]",
      "Writes a checkpoint in Hugging Face's layout: config.json, model.safetensors and the "
      "tokenizer, where a published type of model has its form and its encoding: rope and "
      "its scalings, none, learned and alibi.\nA folder in that layout may be given too, to "
      "swap its encoding.");
  a.flags()(
      "encoding", po::value<std::string>(),
      "encoding to write, e.g. 'yarn(factor=4)'; options that are not written are the model's "
      "(default: the one that trained)")(
      "context", po::value<int>(),
      "tokens it is said to be for (default: those it was trained at)")(
      "force", po::bool_switch(), "writes over a config.json that is there");
  a.positional("checkpoint");
  a.positional("folder");
  if (!a.parse(words)) return 0;
  a.require("checkpoint", "the checkpoint");
  a.require("folder", "the folder to write");
  const Catalog catalog = catalog_of(a);
  const NamedModel named(a.text("checkpoint"));
  const fs::path folder = a.text("folder");
  if (fs::exists(folder / "config.json") && !a.flag("force"))
    fail(Exit::usage, "{} holds a config.json already; --force writes over it", folder.string());
  const int asked = a.has("context") ? a.count("context", 1) : longest_trained(named.cell());
  LoadedModel loaded(named, catalog, a, asked);
  const int context = rows_of_table(loaded.model()).value_or(asked);
  const auto config_of = [&](const std::vector<std::int32_t>& ends) {
    return hf::config_for(catalog, loaded.model().config(), loaded.encoding(), context, ends);
  };
  config_of({});  // nothing is written of a model that no published type carries
  fs::create_directories(folder);
  const std::set<std::string> copied = copy_tokenizer(named, folder);
  const Json config = config_of(write_companions(named, folder, copied, context));
  hf::write_checkpoint(folder, config, loaded.model());
  fmt::print("{}: {}, {}\n", folder.string(), config["model_type"].get<std::string>(),
             hf::published_of(config, "config.json").encoding);
  return 0;
}

constexpr Verb model_verbs[] = {
    {"export", "writes a checkpoint in that layout", export_model_verb},
    {"info", "sizes, and the encoding as an expression", model_info_verb},
    {"golden", "compares with what the published code computes", golden_models_verb}};
constexpr Verbs of_model = {"pesuite model", "COMMAND", "Published checkpoints.",
                            "Then: pesuite model COMMAND --help", model_verbs};

}  // namespace

int model_verb(const std::vector<std::string>& words) {
  return call(of_model, words);
}

}  // namespace pesuite::cli
