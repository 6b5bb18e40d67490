#include "model/corpus.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numbers>

#include "model/sums.h"

namespace pesuite {

namespace {

// nll, regret and bits per byte of one group of targets.
void describe(const std::vector<Sums>& documents, const std::string& split, const Json& coords,
              bool text, std::vector<Observation>& out) {
  Sums all;
  for (const Sums& d : documents) all += d;
  if (all.count == 0) return;
  out.push_back(loss_of(documents, "nats/token", split, coords));
  add_regret(documents, "nats/token", split, coords, out);
  if (text && all.bytes > 0) {
    Observation o = observation("bpb", split, coords);
    o.value = all.nats / all.bytes / std::numbers::ln2;
    o.n = units_of(documents);
    o.count = all.count;
    o.settle();
    out.push_back(std::move(o));
  }
}

// What the best model that sees no context pays: the entropy of the targets, from their counts.
void add_unigram(const std::map<std::int32_t, std::int64_t>& counts, const std::string& split,
                 const Json& coords, std::vector<Observation>& out) {
  Observation o = observation("unigram", split, coords);
  o.sum = 0;
  for (const auto& [token, n] : counts) o.count += n;
  if (o.count == 0) return;
  const auto all = static_cast<double>(o.count);
  for (const auto& [token, n] : counts)
    o.sum -= static_cast<double>(n) * std::log(static_cast<double>(n) / all);
  o.value = o.sum / all, o.n = o.count;
  out.push_back(std::move(o));
}

}  // namespace

void evaluate_corpus(const Scorer& model, const Task& task, const EvalConfig& c,
                     const Protocol& protocol, int length, std::uint64_t seed, std::int64_t steps,
                     const std::function<void(double)>& progress, std::vector<Observation>& out) {
  const std::vector<Window> windows = protocol.windows(c.window_lengths(), length);
  const auto documents = static_cast<std::size_t>(c.examples);
  std::vector<Task::Request> requests;
  for (std::size_t d = 0; d < documents; ++d)
    for (const Window& w : windows) {
      Task::Request r;
      r.split = c.split, r.seed = seed, r.index = d;
      r.length = length, r.start = w.start, r.first_scored = w.first_scored;
      requests.push_back(r);
    }
  // per document: all targets, and those with 2^b .. 2^(b+1) - 1 tokens of context
  std::vector<Sums> all(documents);
  std::vector<std::vector<Sums>> buckets;
  Recalled recalled(documents);
  std::map<std::int32_t, std::int64_t> counts;
  const std::int32_t* bytes = task.info().token_bytes;
  score_all(model, task, c.pass_tokens, length, seed, steps, requests, progress,
            [&](const Scored& t) {
              const Sums one{t.nats, t.optimum, t.correct ? 1.0 : 0.0,
                             bytes == nullptr ? 0.0 : bytes[t.target], 1};
              const std::size_t d = t.request / windows.size();
              all[d] += one;
              ++counts[t.target];
              const auto b =
                  static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(t.place + 1))) - 1;
              while (buckets.size() <= b) buckets.emplace_back(documents);
              buckets[b][d] += one;
              recalled.add(d, t.distance, one);
            });
  Json coords = {
      {"train_len", c.train_length}, {"eval_len", length}, {"protocol", protocol.text()}};
  const std::string split = c.trained_on(length) ? "id" : "ood";
  describe(all, split, coords, bytes != nullptr, out);
  add_unigram(counts, split, coords, out);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    coords["pos_lo"] = 1 << b;  // tokens of context
    coords["pos_hi"] = std::min(1 << (b + 1), length + 1);
    describe(buckets[b], split, coords, false, out);
  }
  coords.erase("pos_lo"), coords.erase("pos_hi");
  recalled.each(coords, [&](const std::vector<Sums>& targets, const Json& where) {
    describe(targets, split, where, false, out);
  });
}

}  // namespace pesuite
