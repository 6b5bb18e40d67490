// Files of factors, as `pesuite search` writes them.
#pragma once

#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rotary {

// Numbers separated by blanks, commas or lines, and at will a line
// `attention_factor = m`; # starts a comment.
struct FactorsFile {
  std::vector<double> factors;
  double attention_factor = 0;

  explicit FactorsFile(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw pes::Refusal("cannot read the factors file '" + path + "'");
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      const std::size_t equals = line.find('=');
      const bool setting = equals != std::string::npos;
      if (setting && line.substr(0, line.find_first_of(" =")) != "attention_factor")
        throw pes::Refusal("factors file '" + path + "' sets what is no attention_factor: " + line);
      if (setting) line = line.substr(equals + 1);
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        char* end = nullptr;
        const double x = std::strtod(word.c_str(), &end);
        if (*end != 0 || !(x > 0 && x < 1e9))
          throw pes::Refusal("factors file '" + path + "' holds '" + word +
                             "', which is no number above 0");
        if (setting)
          attention_factor = x;
        else
          factors.push_back(x);
      }
    }
  }
};

}  // namespace rotary
