// Why a model answers as it does: where its attention looks, what its states know of the position,
// how much its answers depend on the encoding. docs/probes.md defines each number.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/evaluate.h"

namespace pesuite {

enum class ProbeKind {
  attention,
  zeroed,
  offset,
  shuffled,
  position,
  bands,
  maps,
  generated,
  predictions
};
const std::vector<std::string>& probe_names();
ProbeKind parse_probe(const std::string& name);  // Error (usage)

struct ProbeConfig {
  ProbeKind kind = ProbeKind::attention;
  std::vector<int> offsets = {};             // of `offset`: tokens
  std::vector<int> kept = {0};               // of `shuffled`: tokens that keep their order
  int bands = 4;                             // of `bands`
  int example = 0;                           // of `maps`: running number
  std::vector<int> layers = {}, heads = {};  // of `maps`; empty: all
  bool operator==(const ProbeConfig&) const = default;
};
// Error (usage) when the model has no such layer or head, or the maps would take too much space.
void check(const ProbeConfig&, const ModelConfig&, int length);
// Passes over the examples that it takes, for plans.
double passes_of(const ProbeConfig&);

// Observations of one length, with coords.probe. Examples, protocols and errors are those of
// evaluate(). Nothing where the encoding has nothing to probe: `bands` of one that does not turn
// pairs of features. `maps` makes no observations, see write_maps().
std::vector<Observation> probe(Model&, const Task&, const EvalConfig&, const ProbeConfig&,
                               int length, std::uint64_t seed, std::int64_t steps,
                               const std::function<void(double)>& progress = {});

// ----------------------------------------------------------------------------------- shuffled

// Places of a row whose tokens change theirs: from its document on, up to `kept` tokens before the
// one that the first scored target is read from. Signs of a problem (BOS, SEP, ...) may stay.
std::vector<std::size_t> places_to_shuffle(std::span<const std::int32_t> tokens,
                                           std::span<const std::int32_t> targets,
                                           std::span<const std::int32_t> starts, bool signs_stay,
                                           int kept);
// A model whose nats are what it pays when the tokens before the first scored one, but for the last
// `kept` of them, are read in another order. `moved` counts those that may have changed places.
Scorer shuffled(Model&, const Task&, int kept, std::int64_t& moved);

// ---------------------------------------------------------------------------------- generated

// A model that writes each answer itself: the examples are read up to it, then its likeliest token
// is read in place of the right one. Error (usage) where refuses_generation() says why not.
Scorer generated(Model&, const Task&);
// Why the answers of a task cannot be written token by token, as a sentence; "": they can.
std::string refuses_generation(bool corpus, bool answers_in_tokens, bool has_positions);

// -------------------------------------------------------------------------------- predictions

// An observation an example, with what was read, wanted and found in its coordinates. Error (usage)
// where refuses_predictions() says why not.
std::vector<Observation> probe_predictions(Model&, const Task&, const EvalConfig&, int length,
                                           std::uint64_t seed, std::int64_t steps,
                                           const std::function<void(double)>& progress = {});
std::string refuses_predictions(bool corpus);

// ---------------------------------------------------------------------------------- attention

std::vector<Observation> probe_attention(Model&, const Task&, const EvalConfig&, int length,
                                         std::uint64_t seed, std::int64_t steps,
                                         const std::function<void(double)>& progress = {});

// Of one query's probabilities p over the keys 0 .. i, i its own place.
struct RowStatistics {
  double distance;  // mean of i - j, tokens
  double entropy;   // nats
  double sink;      // mass on the first token
};
RowStatistics row_statistics(std::span<const double> p);

// Writes the attention of one example: a tensor "layers.L.heads.H" [T, T] for each chosen head,
// query by key, in one safetensors file, and in its metadata what it is of. One head at a time is
// in memory.
void write_maps(const fs::path&, Model&, const Task&, const EvalConfig&, const ProbeConfig&,
                int length, std::uint64_t seed, std::int64_t steps,
                std::map<std::string, std::string> metadata);

// ----------------------------------------------------------------------------------- position

std::vector<Observation> probe_position(Model&, const Task&, const EvalConfig&, int length,
                                        std::uint64_t seed, std::int64_t steps,
                                        const std::function<void(double)>& progress = {});

// Least squares from numbers x and a constant to y, from running sums.
class LinearFit {
 public:
  explicit LinearFit(std::size_t width);
  void add(std::span<const double> x, double y);
  // The constant and the weights of x. `ridge`, as a share of the mean variance of x, keeps them
  // finite where numbers go together. Nothing added: zeros.
  std::vector<double> solve(double ridge) const;

 private:
  std::size_t width_;
  double n_ = 0, y_ = 0;
  std::vector<double> x_, xy_, xx_;  // sums; xx_ the lower triangle, row by row
};

// -------------------------------------------------------------------------------------- bands

// Two features that an encoding turns by `frequency` radians a position, and scales by `factor`.
struct TurnedPair {
  int first, second;
  double frequency, factor;
};
// Of queries and of keys, by layer and head, the fastest first; empty where nothing turns.
struct Rotation {
  std::vector<std::vector<std::vector<TurnedPair>>> queries, keys;
  std::size_t pairs() const;  // most of any head
};
// What the encoding turns in sequences of this length; null where it does something else to q and
// k, or nothing.
std::optional<Rotation> rotation_of(Model&, const StepInfo&);
// An inspection that lets pairs from .. below - 1 of each head stand still, as at position 0.
Inspection holding(const Rotation&, std::size_t from, std::size_t below);

}  // namespace pesuite
