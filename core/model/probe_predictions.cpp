// What a model answers to single examples of a problem, beside what is right.
#include "base/error.h"
#include "model/probes.h"
#include "model/sums.h"

namespace pesuite {

namespace {

// Numbers with blanks; of long ones the last.
std::string in_words(std::span<const std::int32_t> tokens) {
  constexpr std::size_t most = 128;
  std::string out = tokens.size() > most ? "... " : "";
  for (const std::int32_t t : tokens.last(std::min(most, tokens.size())))
    out += std::to_string(t) + " ";
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace

std::string refuses_predictions(bool corpus) {
  return corpus ? "probe 'predictions': the task is a corpus, which has no answers; it wants a "
                  "problem"
                : "";
}

std::vector<Observation> probe_predictions(Model& model, const Task& task, const EvalConfig& c,
                                           int length, std::uint64_t seed, std::int64_t steps,
                                           const std::function<void(double)>& progress) {
  if (const std::string why = refuses_predictions(task.is_corpus()); !why.empty())
    fail(Exit::usage, "{}", why);
  std::vector<Observation> out;
  for (int i = 0; i < c.examples; ++i) {
    const Task::Request r = request_of(task, c, c.split, i, length, seed);
    const Batch b = batch_of(task, {&r, 1});
    const Scores scores = model.score(b, evaluation_step(1, b.length, seed, steps));
    std::vector<std::int32_t> wanted, found;
    for (std::size_t k = 0; k < scores.place.size(); ++k) {
      wanted.push_back(b.targets[static_cast<std::size_t>(scores.place[k])]);
      found.push_back(scores.best[k]);
    }
    if (wanted.empty()) continue;
    const auto first = static_cast<std::size_t>(scores.place.front());
    Observation o = observation("prediction", c.trained_on(length) ? "id" : "ood",
                                {{"train_len", c.train_length}, {"eval_len", length}});
    double right = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) right += wanted[k] == found[k] ? 1 : 0;
    o.value = right / static_cast<double>(wanted.size());
    o.n = 1, o.count = std::ssize(wanted);
    o.coords.update({{"probe", "predictions"},
                     {"example", i},
                     {"read", in_words(std::span(b.tokens).first(first + 1))},
                     {"wanted", in_words(wanted)},
                     {"found", in_words(found)}});
    out.push_back(std::move(o));
    if (progress) progress((i + 1.0) / c.examples);
  }
  return out;
}

}  // namespace pesuite
