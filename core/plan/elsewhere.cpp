#include "plan/elsewhere.h"

#include "base/error.h"
#include "hf/weights.h"

namespace pesuite {

std::vector<SuiteModel> described_models(const Suite& suite, Problems& problems) {
  std::vector<SuiteModel> all = suite.models;
  for (SuiteModel& m : all) {
    if (m.weights.empty()) continue;
    try {
      const hf::Published p = hf::read_config(m.weights);
      hf::WeightFiles(m.weights).require_room_for(p);
      m.config = p.model;
      m.config.padded_vocabulary = p.model.vocabulary;  // as good as any text that has fewer
      m.train_length = p.context, m.encoding = p.encoding;
    } catch (const Error& e) {
      problems.add(m.where,
                   fmt::format("'weights' is '{}', where there is no trained model in Hugging "
                               "Face's layout ('pesuite model export' writes one): {}",
                               m.weights, e.what()),
                   e.code());
    }
  }
  return all;
}

Misfit misfit(const SuiteModel& m, const SuiteEncoding& e, const SuiteTask& t,
              const TaskFacts& task) {
  const EncodingExpression x = parse_encoding(e.expression);
  if (!x.switches.empty() || !x.evaluation.empty())
    return {e.where,
            fmt::format(
                "'{}' is for a training, and model '{}' has been trained: give what to evaluate it "
                "with, such as '{}'",
                e.expression, m.id,
                to_text(x.evaluation.empty() ? x.switches.back().to : x.evaluation))};
  if (t.branch) return {t.where, fmt::format("has budgets, and model '{}' has been trained", m.id)};
  if (task.crashed) return {};             // its cells will say so
  const bool is_text = task.document > 0;  // fewer tokens than the model's are some of them
  const bool fits =
      task.head == PES_LM && task.positions == 0 &&
      (is_text ? task.inputs <= m.config.vocabulary : task.inputs == m.config.vocabulary);
  if (fits) return {};
  return {
      t.where,
      fmt::format(
          "task '{}' has {} tokens{}, and model '{}' reads and writes {}: give a text in the "
          "model's tokens, 'tokens(path=FOLDER)'",
          t.id, task.inputs, task.head != PES_LM ? " and classes" : "", m.id, m.config.vocabulary)};
}

}  // namespace pesuite
