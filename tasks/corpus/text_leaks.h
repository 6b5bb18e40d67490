// Which paragraphs of a held-out text does the training text hold as well?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace text {

struct Leaks {
  std::vector<std::string_view> kept, leaking;  // paragraphs of the held-out text
};

// A paragraph leaks when at least half of its 64-byte pieces occur in the training text, so that a
// stock phrase is no leak. Of a long training text only a share of the pieces is looked at, chosen
// by their hashes, so that memory is bounded. Shorter paragraphs are kept: they prove nothing.
Leaks find_leaks(std::string_view train, std::string_view held_out);
std::string describe(const Leaks&);  // how many, what share of the bytes, how the first begins

// Ends at blank lines, or with the line that makes 1024 bytes full. Together they are the text.
std::vector<std::string_view> paragraphs(std::string_view text);

}  // namespace text
