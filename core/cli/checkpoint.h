// Checkpoints as users name them, and what their models can read.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cell/cell.h"
#include "cli/arguments.h"
#include "hf/weights.h"
#include "text/tokenizer.h"

namespace pesuite::cli {

// The folder of shards that a task reads; "": it reads none.
std::string shards_of(const std::string& task);

// A file, or the name of one without its ending, or a training's folder, or a cell of a run
// (checkpoint_of_cell). Error (data) when it is none.
std::filesystem::path find_checkpoint(const std::string& name);

// A model as users name it: a checkpoint of 'train' or 'run', or a folder in Hugging Face's layout.
class NamedModel {
 public:
  explicit NamedModel(const std::string& name);  // Error (data)

  const fs::path& path() const { return path_; }
  bool is_published() const { return published_.has_value(); }
  // Of a folder: what its config.json says; it has no task, and was trained at its context.
  const CellConfig& cell() const { return cell_; }
  ModelUse use() const;  // to read with
  void load(Model&) const;
  const TrainState& trained() const { return trained_; }  // of a folder: nothing is known
  // With the text of a folder of shards in place of what it was trained on; with "" its own, which
  // a folder in that layout lacks. Error (usage) for tokens of another tokenizer, and where there
  // is none and no task is `given`.
  CellConfig with_text(const std::string& shards, bool given) const;
  // What `encoding` leaves of it, or it itself for "": an expression with all its options. Error
  // (usage) where that changes in the course of a run.
  std::string encoding(const Catalog&, const std::string& encoding) const;
  // With `encoding` swapped in, for sequences of `longest` tokens.
  CellConfig swapped(const std::string& encoding, int longest) const;
  // The one given, or its own. Error (usage) where it has none.
  std::unique_ptr<text::Tokenizer> tokenizer(const std::string& given) const;
  std::vector<std::int32_t> ends(const text::Tokenizer*) const;  // tokens that end a text

 private:
  fs::path path_;
  std::optional<hf::Published> published_;
  CellConfig cell_;
  TrainState trained_;
};

// It in memory, for sequences of up to `longest` tokens, with the encoding, backend, precision and
// threads that flags of these names say, else its own and all cores.
class LoadedModel {
 public:
  LoadedModel(const NamedModel&, const Catalog&, const Arguments&, int longest);
  Model& model() { return *model_; }
  const std::string& encoding() const { return encoding_; }

 private:
  std::string encoding_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
};

// The number of the task, of those a cell was trained on, that an expression names; 0: its own, or
// a new one in its alphabet.
std::size_t part_of(const CellConfig&, const Catalog&, const std::string& task);
// A task that a cell's model is evaluated on. The configuration gets no more examples than a text
// has, and no protocol where the task is a problem. Error (usage) where the model lacks the
// task's tokens and classes, or the task cannot be evaluated so. `own_axes`: of the configuration's
// axes those stay that the task has; else one that it lacks is an error.
Task evaluated_task(const Catalog&, const CellConfig&, const std::string& text, EvalConfig&,
                    bool own_axes = false);

}  // namespace pesuite::cli
