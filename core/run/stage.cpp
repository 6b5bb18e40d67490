#include "run/stage.h"

#include "base/error.h"
#include "cell/outside.h"
#include "hf/weights.h"

namespace pesuite {

Stage::Stage(const Catalog& catalog, Backend& backend, const Task& own, const CellConfig& cell,
             Group& group)
    : catalog_(catalog),
      backend_(backend),
      group_(group),
      own_(own),
      mixed_(make_mixed_tasks(catalog, cell)),
      data_(make_mixture(own, mixed_, cell.mix)),
      config_(cell) {
  check();
  // A plan goes on without the answer of a task that crashed when it was asked.
  if (std::max(data_.vocabulary(), cell.model.padded_vocabulary) != cell.model.vocabulary)
    fail(Exit::data,
         "task '{}' has {} symbols, but its cell was planned for {}: it crashed when it was asked; "
         "the same command plans it anew",
         cell.task, data_.vocabulary(), cell.model.vocabulary);
}

void Stage::check() const {
  check_unchanged(catalog_, own_, config_.task, config_.task_identity);
  for (std::size_t i = 0; i < mixed_.size(); ++i)
    check_unchanged(catalog_, mixed_[i], config_.mix[i].task, config_.mix[i].identity);
  if (model_) check_unchanged(catalog_, config_, encoding_);
  check_unchanged_weights(config_);
}

namespace {

ModelUse uses_of_folder(const fs::path& weights) {
  return hf::WeightFiles(weights).use(hf::read_config(weights));
}

}  // namespace

void Stage::make_model(const std::string& encoding) {
  model_.reset();  // before there is memory for another
  model_ = std::make_unique<Model>(
      backend_, model_of(config_), make_encoding(catalog_, encoding, config_), config_.seed,
      config_.weights.empty() ? ModelUse{} : uses_of_folder(config_.weights));
  encoding_ = encoding;
  // nor without that of a library that did not load then
  for (const std::string& name : names_of(parse_encoding(encoding).first))
    if (!config_.encoding_identity.contains(name))
      fail(
          Exit::data,
          "encoding '{}' was planned without its library, which could not be loaded then; the same "
          "command plans it anew",
          name);
  check();
}

void Stage::begin(const CellConfig& stage) {
  config_ = stage;
  state = {};
  make_model(encoding_of(stage));
}

void Stage::restart() {
  state = {};
  model_->restart(config_.seed);
}

void Stage::load(const fs::path& file) {
  load_checkpoint(file, *model_, state, cell_identity(config_));
}

void Stage::branch_off(const fs::path& file, const CellConfig& trunk) {
  branch_checkpoint(file, *model_, state, cell_identity(trunk),
                    config_.switches.back().reset_optimizer);
}

void Stage::take_weights() {
  hf::WeightFiles(config_.weights).load(hf::read_config(config_.weights), *model_);
  state.step = config_.train.steps;
}

TrainOutcome Stage::train(const TrainPaths& paths, std::int64_t until) {
  watch.until = until;
  model_->set_recompute(recompute);
  return pesuite::train(*model_, data_, train_of(config_), config_.seed, cell_identity(config_),
                        paths, watch, state, group_);
}

void Stage::swap_in(const CellConfig& cell, const fs::path& weights) {
  config_ = cell;
  make_model(cell.evaluation);
  load_weights(weights, *model_);
}

}  // namespace pesuite
