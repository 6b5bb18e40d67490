// Training in stages, one for each stretch between two switches of the encoding. Cells of suites
// keep a stage each, in folders of their own; a training outside a suite passes through all of its
// stages in one folder. What a stage is made of is the same for both.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "cell/cell.h"

namespace pesuite {

class Stage {
 public:
  // `cell` says what data there is; its task, the catalog, backend and group are on loan. Error
  // (data) here and in begin() when what the cell reads is not what it was planned with.
  Stage(const Catalog&, Backend&, const Task& own, const CellConfig& cell, Group&);

  TrainWatch watch;        // train() sets `until`
  bool recompute = false;  // activations, in the backward pass
  TrainState state;

  // Takes up a stage, with start values.
  void begin(const CellConfig& stage);
  void restart();  // the same stage, from its start values
  // Goes on from its own checkpoint, or from where its trunk left one for it. Error (data) where
  // the file is another's, or damaged.
  void load(const fs::path&);
  void branch_off(const fs::path&, const CellConfig& trunk);
  // Error (data) when what it reads is no longer what it was.
  void check() const;
  // To the stage's end, or no further than `until` steps.
  TrainOutcome train(const TrainPaths&,
                     std::int64_t until = std::numeric_limits<std::int64_t>::max());
  // Takes the weights of the cell's folder, which were trained elsewhere.
  void take_weights();
  // The encoding that `cell` evaluates with, and the weights of a checkpoint.
  void swap_in(const CellConfig& cell, const fs::path& weights);

  Model& model() const { return *model_; }
  const CellConfig& config() const { return config_; }

 private:
  void make_model(const std::string& encoding);

  const Catalog& catalog_;
  Backend& backend_;
  Group& group_;
  const Task& own_;
  std::vector<Task> mixed_;
  Mixture data_;
  CellConfig config_;
  std::string encoding_;  // that the model has now
  std::unique_ptr<Model> model_;
};

}  // namespace pesuite
