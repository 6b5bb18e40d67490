// The checks of an encoding, one function each, called in a process of its own. Each returns a
// sentence about what it measured, or throws Fault, or Skip where it does not apply.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "check/finding.h"
#include "check/note.h"
#include "check/pass.h"

namespace pesuite::checks {

struct Subject {
  const Catalog& catalog;  // holds the one library
  const pes_encoding& encoding;
  Options given;                    // by the user
  std::vector<std::string> values;  // one for each option of the card
  ModelShape model;                 // the first of model_shapes() that the encoding takes
  int level = 5;
  double tolerance = 1;    // factor of every tolerance
  std::uint64_t seed = 1;  // of fuzzing
  int rounds = 24;         // of fuzzing
  double seconds = 0;      // of fuzzing; 0: rounds
  Note& note;

  std::uint32_t claims() const { return encoding.card->claims; }
  bool claims(std::uint32_t bit) const { return (claims() & bit) != 0; }
};

// Small models, from the smallest on; training at train_length, at most max_length at all.
std::span<const ModelShape> model_shapes();
// The first that the encoding takes. Throws Refused with the plugin's sentence when it takes none.
ModelShape accepted_shape(const pes_encoding&, const std::vector<std::string>& values);
// "'table', which is [64, 32] for sequences of 64 and [128, 32] for sequences of 128", of the first
// parameter whose shape depends on the longest sequence; "" where none does. `at`: its index.
std::string growing_parameter(const Subject&, std::size_t& at);

struct EncodingCheck {
  const char* name;
  int level;           // runs at this strictness and above
  const char* proves;  // for the list of checks
  std::string (*run)(const Subject&);
  bool gate = false;         // later checks run only when this one has passed
  bool of_defaults = false;  // of the default options alone, as claims are
};
std::span<const EncodingCheck> encoding_checks();

// setup.cpp
std::string check_options(const Subject&);
std::string check_creates(const Subject&);
std::string check_steps(const Subject&);
std::string check_sizes(const Subject&);
std::string check_acts(const Subject&);
// repeat.cpp
std::string check_deterministic(const Subject&);
std::string check_pure(const Subject&);
std::string check_threads(const Subject&);
std::string check_memory(const Subject&);
// leaks.cpp
std::string check_causal(const Subject&);
std::string check_batch(const Subject&);
std::string check_cached(const Subject&);
// gradients.cpp
std::string check_gradients(const Subject&);
// extent.cpp
std::string check_lengths(const Subject&);
std::string check_offset(const Subject&);
std::string check_shapes(const Subject&);
std::string check_rows(const Subject&);
std::string check_attention(const Subject&);
std::string check_backends(const Subject&);
// claims.cpp
std::string check_relative(const Subject&);
std::string check_parameter_free(const Subject&);
std::string check_norm_preserving(const Subject&);
std::string check_monotone_decay(const Subject&);
std::string check_unbounded(const Subject&);
// phases.cpp
std::string check_phases(const Subject&);
// fuzz.cpp
std::string check_fuzz(const Subject&);

}  // namespace pesuite::checks
