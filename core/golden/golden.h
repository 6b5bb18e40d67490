// Encodings against golden vectors: outputs and gradients that public reference code computed.
#pragma once

#include <string>
#include <vector>

#include "golden/rig.h"

namespace pesuite::golden {

enum class Status { passed, failed, skipped };

struct Worst {  // of one case: the number that comes nearest to its tolerance, or exceeds it most
  std::string output;
  double error = 0, tolerance = 0;  // |actual - wanted|, and what it may be
};

struct Outcome {  // of one vector on one backend
  std::string name, kind, backend;
  std::string encoding;  // the expression that was run
  Status status = Status::skipped;
  std::string reason;  // of a failure, of a skip
  std::string note;    // outputs of a passed vector that were not compared, and why
  Worst worst;
};

// Holds what was computed against a vector's outputs. |x - y| <= abs + rel |y|: on the reference
// backend the vector's own bounds, elsewhere those of fp32, 2e-5 for outputs and 1e-4 for
// gradients. Outputs that end in _f32 come from code that rounded to fp32 and are ignored.
class Comparison {
 public:
  Comparison(const Vector& v, const Spelling& s, bool exact) : v_(v), s_(s), exact_(exact) {}

  // `output` is the kind's name for it; the rule may give it another. Names that start with d
  // (dq, d_table) are gradients.
  void operator()(const std::string& output, const std::vector<double>& actual);
  bool wants(const std::string& output) const { return v_.has_output(name_of(output)); }
  Values wanted(const std::string& output) const { return v_.output(name_of(output)); }
  // Says that outputs whose names match are left out.
  void leave(const std::string& pattern, const std::string& why);
  void finish(Outcome&) const;

 private:
  std::string name_of(const std::string& output) const;

  const Vector& v_;
  const Spelling& s_;
  bool exact_;
  Worst worst_;
  std::string failure_, note_;
  std::vector<std::string> seen_;
};

// Runs one kind of vector. To teach the tool another kind: write one of these and add it to the
// list in golden.cpp.
struct Case {
  const Vector& v;
  const Rules& rules;
  const Spelling& spelling;
  const Catalog& catalog;
  Backend& backend;
  Comparison& compare;

  Rig rig() const { return {v, spelling, catalog, backend}; }
};
using Kind = void (*)(Case&);
void check_attention(Case&);  // kinds_attention.cpp
void check_embedding_attention(Case&);
void check_module_attention(Case&);
void check_table(Case&);
void check_queries_and_keys(Case&);  // kinds_rotation.cpp
void check_frequencies(Case&);
void check_cosines(Case&);
void check_bias(Case&);  // kinds_bias.cpp
void check_buckets(Case&);
void check_slopes(Case&);
void check_scores(Case&);
void check_contextual_positions(Case&);
void check_temperature(Case&);
void check_search(Case&);  // kinds_search.cpp

// One vector on one backend. An error of a plugin or a rule is a failed outcome.
Outcome check(const Vector&, const Rules&, const Catalog&, Backend&);

// The vectors of a folder, sorted by name. Error (data) when there is no such folder, or none in
// it.
std::vector<fs::path> vector_files(const fs::path& folder);

}  // namespace pesuite::golden
