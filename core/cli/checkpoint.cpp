#include "cli/checkpoint.h"

#include <algorithm>

#include "base/error.h"
#include "cli/named_cell.h"
#include "data/shards.h"
#include "encoding/swap.h"
#include "run/run.h"

namespace pesuite::cli {

namespace fs = std::filesystem;

std::string shards_of(const std::string& task) {
  const Expression x = parse_expression(task, "task");
  const auto path = x.options.find("path");
  return x.name == "tokens" && path != x.options.end() ? path->second : "";
}

fs::path find_checkpoint(const std::string& name) {
  for (const fs::path& p :
       {fs::path(name), fs::path(name + ".safetensors"), fs::path(name) / "latest.safetensors",
        fs::path(name) / "last.safetensors"})
    if (fs::is_regular_file(p)) return p;
  if (const auto of_cell = checkpoint_of_cell(name)) return *of_cell;
  fail(Exit::data,
       "there is no checkpoint {}, neither a file nor a training's folder nor a cell of a run "
       "(RUN/ENCODING/TASK/MODEL/SEED)",
       name);
}

namespace {

// The task `text` writes bytes behind the symbols that all tasks share.
class ByteSymbols : public text::Tokenizer {
 public:
  void encode(std::string_view text, std::vector<text::Token>& ids, text::Specials) const override {
    for (const char c : text)
      ids.push_back(PES_FIRST_SYMBOL + static_cast<text::Token>(static_cast<unsigned char>(c)));
  }
  std::string decode(std::span<const text::Token> ids, bool) const override {
    std::string out;
    for (const text::Token id : ids)
      if (id >= PES_FIRST_SYMBOL && id < vocabulary())
        out += static_cast<char>(id - PES_FIRST_SYMBOL);
    return out;
  }
  std::uint32_t vocabulary() const override { return PES_FIRST_SYMBOL + 256; }
  std::int64_t end_of_text() const override { return -1; }
  std::string name() const override { return "bytes behind 8 symbols"; }
  std::string digest() const override { return ""; }
};

}  // namespace

NamedModel::NamedModel(const std::string& name) {
  if (fs::exists(fs::path(name) / "config.json")) {
    path_ = name;
    published_ = hf::read_config(path_);
    hf::WeightFiles(path_).require_room_for(*published_);
    cell_.encoding = published_->encoding;
    cell_.model = published_->model;
    cell_.model.padded_vocabulary = cell_.model.vocabulary;  // as good as any task that has fewer
    cell_.max_length = cell_.train.length = published_->context;
    return;
  }
  path_ = find_checkpoint(name);
  cell_ = read_cell(checkpoint_identity(path_), path_);
  trained_ = checkpoint_state(path_);
}

ModelUse NamedModel::use() const {
  return published_ ? hf::WeightFiles(path_).use(*published_) : ModelUse{.trains = false};
}

void NamedModel::load(Model& model) const {
  if (published_)
    hf::WeightFiles(path_).load(*published_, model);
  else
    load_weights(path_, model);
}

CellConfig NamedModel::with_text(const std::string& shards, bool given) const {
  CellConfig cell = cell_;
  const auto how = [&](const std::string& folder) {
    return fmt::format("'pesuite data tokenize TEXT --tokenizer {} -o {}'", path_.string(), folder);
  };
  if (shards.empty()) {
    if (published_ && !given) fail(Exit::usage, "which text? --data FOLDER, of {}", how("FOLDER"));
    return cell;
  }
  const data::Manifest m = data::read_manifest(shards);
  if (published_ && fs::exists(path_ / "tokenizer.json"))
    if (text::open_tokenizer(path_.string())->digest() != m.tokenizer_sha256)
      fail(Exit::usage,
           "the tokens in {} are those of another tokenizer than {} has; make them with {}", shards,
           path_.string(), how(shards));
  cell.task = to_text(Expression{"tokens", {{"path", shards}}});
  return cell;
}

std::string NamedModel::encoding(const Catalog& catalog, const std::string& text) const {
  const std::string own = cell_.evaluation.empty() ? encoding_of(cell_) : cell_.evaluation;
  if (text.empty() && !published_) return own;
  const EncodingExpression x = parse_encoding(text.empty() ? own : text);
  if (!x.switches.empty() || !x.evaluation.empty())
    fail(Exit::usage,
         "--encoding '{}': a checkpoint has been trained; give what to evaluate it with, such as "
         "'{}'",
         text, to_text(x.evaluation.empty() ? x.switches.back().to : x.evaluation));
  if (!text.empty() && no_layer_takes(text, encoding_of(cell_), cell_.model.window_every))
    fail(Exit::usage, "--encoding '{}': {}", text, no_layer_changes);
  // weights go with what trained them, not with what was swapped in behind it
  const std::string in_place =
      text.empty() ? own : swapped_in(catalog, text, encoding_of(cell_), cell_.model.window_every);
  return to_text(parse_encoding(in_place), full_terms(catalog, in_place));
}

CellConfig NamedModel::swapped(const std::string& encoding, int longest) const {
  CellConfig cell = cell_;
  // tables are as long as they were trained, where training hung on the longest length
  if (cell.max_length > longest_trained(cell) && !published_) return cell;
  cell.evaluation = encoding;
  cell.evaluation_max_length = std::max(cell.max_length, longest);
  return cell;
}

std::unique_ptr<text::Tokenizer> NamedModel::tokenizer(const std::string& given) const {
  if (!given.empty()) return text::open_tokenizer(given);
  if (published_) return text::open_tokenizer(path_.string());
  if (const std::string folder = shards_of(cell_.task); !folder.empty())
    return data::tokenizer_of(data::read_manifest(folder), folder);
  if (parse_expression(cell_.task, "task").name == "text") return std::make_unique<ByteSymbols>();
  fail(Exit::usage,
       "{} was trained on '{}', which is no text: give --tokens with ids instead of a prompt, or "
       "--tokenizer",
       path_.string(), cell_.task);
}

std::vector<std::int32_t> NamedModel::ends(const text::Tokenizer* t) const {
  if (published_ && !published_->ends.empty()) return published_->ends;
  if (t == nullptr || t->end_of_text() < 0) return {};
  return {static_cast<std::int32_t>(t->end_of_text())};
}

LoadedModel::LoadedModel(const NamedModel& named, const Catalog& catalog, const Arguments& a,
                         int longest)
    : encoding_(named.encoding(catalog, a.text("encoding"))) {
  const CellConfig& own = named.cell();
  const bool other = a.has("encoding") || named.is_published();
  const CellConfig cell = other ? named.swapped(encoding_, longest) : own;
  BackendOptions options;
  options.threads = a.threads() > 0 ? a.threads() : default_jobs(1);
  options.precision = a.has("precision") ? parse_precision(a.text("precision")) : own.precision;
  backend_ = open_backend(a.text("backend", own.backend), options);
  model_ = std::make_unique<Model>(*backend_, model_of(own),
                                   make_encoding(catalog, encoding_, cell), own.seed, named.use());
  named.load(*model_);
}

std::size_t part_of(const CellConfig& cell, const Catalog& catalog, const std::string& task) {
  const Expression x = parse_expression(task, "task");
  const std::string text =
      full_text(*catalog.task(x.name).descriptor->card, x.options, "task '" + x.name + "'");
  for (std::size_t i = 0; i < cell.mix.size(); ++i)
    if (cell.mix[i].task == text) return i + 1;
  return 0;
}

namespace {

void check_alphabet(const Task& task, const CellConfig& cell) {
  const pes_task_created& t = task.info();
  const ModelConfig& m = cell.model;
  // a mixture's alphabet holds more than one task's
  const bool fits = cell.mix.empty() && m.padded_vocabulary == 0
                        ? t.inputs == m.vocabulary && t.outputs == m.outputs()
                        : t.head == PES_LM && t.inputs <= m.vocabulary;
  if (!fits)
    fail(Exit::usage, "task '{}' has {} tokens and {} classes, the model {} and {}", task.text(),
         t.inputs, t.outputs, m.vocabulary, m.outputs());
  if (t.positions != m.positions)
    fail(Exit::usage,
         "task '{}' gives its tokens {} positions of its own, and the model was trained with {}",
         task.text(), t.positions, m.positions);
}

}  // namespace

Task evaluated_task(const Catalog& catalog, const CellConfig& cell, const std::string& text,
                    EvalConfig& config, bool own_axes) {
  const int longest = config.longest() + config.most(shots_axis) * cell.train.length;
  Task task(catalog, parse_expression(text, "task"), cell.train.length,
            std::max(cell.max_length, longest), reach(config));
  if (!task.is_corpus()) config.protocols.clear();
  if (const std::int64_t documents = task.info().documents[config.split]; documents > 0)
    config.examples = static_cast<int>(std::min<std::int64_t>(config.examples, documents));
  check_alphabet(task, cell);
  if (own_axes)
    std::erase_if(config.axes, [&](const EvalAxis& axis) {
      if (is_before(axis.name)) return task.is_corpus();
      const auto& has = task.axes();
      return std::none_of(has.begin(), has.end(),
                          [&](const Axis& own) { return own.name == axis.name; });
    });
  check(config, task);
  return task;
}

}  // namespace pesuite::cli
