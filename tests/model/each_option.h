// Encodings with other options than their defaults.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "plugin/card.h"
#include "tests/catalog.h"

namespace pesuite::testing {

// Each encoding with another value of one option, of all its options.
inline std::vector<std::string> with_one_option() {
  std::vector<std::string> out;
  for (const std::string& name : built_catalog().encoding_names()) {
    const pes_card& card = *built_catalog().encoding(name).descriptor->card;
    for (const pes_option* o : options_of(card)) {
      std::vector<std::string> values;
      if (o->type == PES_BOOL) values = {o->value == std::string("true") ? "false" : "true"};
      if (o->type == PES_CHOICE) values = split(o->choices, '|');
      if (o->type == PES_INT) values = {"2", "40", "500"};
      if (o->type == PES_REAL) values = {"0.5", "3"};
      for (const std::string& value : values)
        if (value != o->value) out.push_back(fmt::format("{}({}={})", name, o->name, value));
    }
  }
  // by random hundreds of radians a token, and by a network of large weights: rounding grows
  std::erase(out, "selective_rope(sd=3)"), std::erase(out, "clex(param_factor=40)");
  return out;
}

}  // namespace pesuite::testing
