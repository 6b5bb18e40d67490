#include "cli/checkpoint.h"

#include <algorithm>

#include "base/error.h"

namespace pesuite::cli {

namespace fs = std::filesystem;

fs::path find_checkpoint(const std::string& name) {
  for (const fs::path& p :
       {fs::path(name), fs::path(name + ".safetensors"), fs::path(name) / "latest.safetensors",
        fs::path(name) / "last.safetensors"})
    if (fs::is_regular_file(p)) return p;
  fail(Exit::data, "there is no checkpoint {}, neither a file nor a run's folder", name);
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
