// Searches, on a trained model, for the numbers that divide the angles of an encoding's pairs. The
// evolution (search/evolution.h) starts from other encodings, known by the angles they turn pairs
// by. Its result is no worse than any of them on its data, unless other options of the encoding are
// set.
//
// Which encodings can be searched, and from where, says NAME.search.toml beside a library (in the
// sources plugins/FAMILY/search.toml):
//
//   [[search]]
//   encoding = "x"           what is searched
//   list = "divisors"        its option with a number for each pair, from the fastest on
//   factor = "gain"          its option with the factor of the turned features; 0 leaves it open
//   file = "file"            its option that reads what was found
//   plain = "y"              the encoding whose angles the numbers divide
//   from = ["x", "z(a=1)"]   expressions that the search begins with
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "encoding/encoding.h"
#include "search/evolution.h"

namespace pesuite {

struct SearchRule {
  std::string encoding, list, factor, file, plain;
  std::vector<std::string> from;
};
// The rule for an encoding. Error (usage) where no library has one, with those that there are, or
// where a file is wrong.
SearchRule search_rule(const Catalog&, const std::string& encoding);

// What an encoding does to a pair (1, 0) at position 1 of a sequence of `length` tokens.
struct Turns {
  std::vector<double> angles;  // radians, one a pair
  double factor = 1;           // length of what comes out
};
// Error (usage) when it does not turn pairs.
Turns turns_of(const Catalog&, const Expression&, const ModelShape&, int length);

// The text of `trained` with `e` in place of the encoding that the search extends. Error (usage)
// when there is none.
std::string in_place(const Sum& trained, const SearchRule&, const Expression& e);

struct SearchResult {
  struct Tried {
    std::string expression;
    double loss;
  };
  std::vector<Tried> from;  // what the search began with
  Tried best;               // the encoding with the numbers found
  std::vector<double> list;
  double factor = 1;
  std::size_t tried = 0;  // lists whose loss was computed
};
// Minimises `loss`, a function of the encoding's expression. The best beginning fixes the factor.
// `wanted` is the encoding to search, with options of its own; `trained` that of the model, in
// whose sum it takes the place of what it extends. `heard` as in evolve().
SearchResult search(const Catalog&, const SearchRule&, const Expression& wanted, const Sum& trained,
                    const ModelShape&, int length, EvolutionConfig, std::uint64_t seed,
                    const std::function<double(const std::string&)>& loss,
                    const std::function<bool(int iteration, const Individual& best)>& heard = {});

}  // namespace pesuite
