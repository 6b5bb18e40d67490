// How a family of encodings says which of its expressions a golden vector is about.
//
// Beside a library NAME.plugin.so may lie NAME.golden.toml (in the sources plugins/FAMILY/
// golden.toml). It holds a list of rules; of all rules of all libraries, in the order of the search
// path, the first that matches a vector decides.
//
//   [[rule]]
//   pe = "x"                       the vector's `pe`; '*' and '?' match anything, a list any of it
//   kind = ["attention", "qk"]     optional: the vector's `kind`, likewise
//   when = {layout = "half*", n = "> 3", notes = "*GPT-J*"}
//                                  optional: all must hold. A text matches with '*' and '?', or
//                                  compares a number (<, <=, >, >=, !=); numbers and booleans must
//                                  be equal; a list matches when any of it does. What a vector
//                                  lacks matches nothing
//   has = ["factor"], lacks = ["inputs.scale"]
//                                  optional: what it must have and must not have
// then either
//   skip = "why such a vector cannot be checked here"
// or
//   encoding = "x(base={base|theta=10000}, factor={factor})"
//                                  the expression. {a|b=c} is the value at a, else at b, else the
//                                  text c; an option whose value is nowhere is left out. A place is
//                                  a key of the vector's config, a path such as
//                                  inputs.table.shape.0 or notes, or one of `values`
//   values.v = {from = ["a", "b"], pattern = "offset=([0-9]+)", map = {"half*" = "half"},
//               times = "c", over = 2, otherwise = "d"}
//                                  optional: a value made from another: what the pattern's group
//                                  catches, what the first fitting entry of `map` gives, that times
//                                  and over numbers or places; all but `from` may be left out. Both
//                                  results of `map` and `otherwise` may hold {places}
//   parameters = {w = "table", u = "up[1,0]", b = 0}
//                                  optional: where a parameter of the encoding comes from: an input
//                                  of the vector, here with its axes permuted; a number fills it.
//                                  Without an entry it is the input of the same name. Equal counts
//                                  are enough: shapes are made to fit, row-major
//   outputs = {inv = "inv_freq"}   optional: the vector's own names of its kind's outputs
//   ignore = {p_after = "why"}     optional: outputs that are not compared; any other must be
//   train_length = "{train_len}"   optional, as are all below: of the model. 4096, or the length
//   length = "{seq_len}"           tokens of the sequence. config.T or seq_len
//   offset = "{offset}"            position of the first token. 0
//   positions = "inputs.ids"       where the position of each token stands, sorted before use.
//                                  inputs.position_ids; "" leaves the positions to the encoding
//   head_dim = "{dim}"             features of a head. config.D, or 8
//   scale = "{scale}"              factor of q.k before the encoding acts. 1/sqrt(D)
//   phase = "train"                or "eval", the default
//   x = "identity"                 a layer's input x [T, T] is the identity, so the width is T: a
//                                  parameter that maps x then holds its result, token by token
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "golden/vector.h"
#include "plugin/library.h"

namespace pesuite {
class Config;
class Problems;
}  // namespace pesuite

namespace pesuite::golden {

// How one vector is run.
struct Spelling {
  struct Source {  // of a parameter
    std::string input;
    std::vector<int> axes;  // permutation, empty for none
    double fill = 0;        // where `input` is ""
  };
  std::string skip;      // a reason, or
  std::string encoding;  // the expression
  std::map<std::string, Source> parameters;
  std::map<std::string, std::string> outputs, ignore;
  std::optional<int> train_length, length, head_dim;
  int offset = 0;
  std::optional<double> scale;
  std::string positions = "inputs.position_ids";
  bool training = false, identity = false;
  std::string rule;  // "plugins/x.golden.toml:3:1", for messages
};

class Rules {
 public:
  // Of the files beside the catalog's libraries. Error (usage) with everything that is wrong in
  // them.
  static Rules beside(const Catalog&);
  static Rules from_text(std::string_view toml, const std::string& name);

  // The first rule that fits, filled in; skip says so where there is none. For vectors that hold
  // several encodings, `output` names the one that is meant and is itself a place {output}. Error
  // (usage) when the rule wants what the vector does not have.
  Spelling spell(const Vector&, const std::string& output = "") const;

 private:
  struct Rule {
    std::vector<std::string> encodings, kinds, has, lacks;
    Json when, values, parameters;  // tables
    std::map<std::string, std::string> texts, outputs, ignore;
    std::string origin;
  };
  static bool fits(const Rule&, const Vector&);
  void add(const Config&, Problems&);
  std::vector<Rule> rules_;
};

}  // namespace pesuite::golden
