#include "cli/suite_flags.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pesuite::cli {

void add_suite_flags(Arguments& a) {
  a.flags()(
      "profile", po::value<std::string>(),
      "settings that the suite lays over its own, e.g. ci; 'info suite NAME' lists them (default "
      "small, where there is one)")("set", po::value<std::vector<std::string>>()->composing(),
                                    "KEY=VALUE, e.g. train.steps=100 or task.corpus.train_len=128")(
      "seeds", po::value<std::string>(), "seeds instead of the suite's, e.g. 42,43,44")(
      "only", po::value<std::vector<std::string>>()->composing(),
      "cells that match, e.g. 'encoding=rope* & seed=42'")(
      "device", po::value<std::string>(),
      "instead of the suite's backend: cpu, cuda, reference, or auto: cuda where a device answers; "
      "'run' deals cells to several: cuda:0,1")(
      "limit", po::value<int>(),
      "at most so many examples, or documents, of each evaluation, for a quick look; records say "
      "so");
  a.choices("device", backend_words);
}

SuiteChoices suite_choices(const Arguments& a) {
  SuiteChoices c;
  c.profile = a.text("profile");
  c.set = a.texts("set");
  c.only = a.texts("only");
  if (a.has("limit")) c.limit = a.count("limit", 1);
  if (a.has("device")) {
    c.device = a.text("device").substr(0, a.text("device").find(':'));
    if (std::find(backend_words.begin(), backend_words.end(), c.device) == backend_words.end())
      fail(Exit::usage, "--device: there is no device '{}'{}; known are {}", c.device,
           did_you_mean(c.device, backend_words), join(backend_words, ", "));
  }
  if (a.has("seeds"))
    for (const std::string& s : split(a.text("seeds"), ',')) {
      double x = 0;
      if (!parse_count(trim(s), x) || x < 0 || x != std::floor(x) || x > 9e15)
        fail(Exit::usage, "--seeds: '{}' is no seed; write whole numbers, e.g. 42,43,44", s);
      const auto seed = static_cast<std::uint64_t>(x);
      if (std::find(c.seeds.begin(), c.seeds.end(), seed) != c.seeds.end())
        fail(Exit::usage, "--seeds: {} is named twice", seed);
      c.seeds.push_back(seed);
    }
  return c;
}

}  // namespace pesuite::cli
