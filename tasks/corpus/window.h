// Windows of documents of a fixed length, as the synthetic languages hand them out.
#pragma once

#include <pesuite/pesuite.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace corpus {

// Throws Refusal when sequences of `longest` tokens do not fit.
inline void check_document(std::int64_t document, std::int64_t longest) {
  if (longest > document)
    throw pes::Refusal("lengths up to " + std::to_string(longest) +
                       " do not fit into documents of " + std::to_string(document) +
                       " tokens; set document to at least that");
}

// First token of the window that a request asks for, drawn where it names none: from a stream of
// its own, keyed by `purpose`, so that the document is the same for every window.
inline std::int64_t window_start(const pes::Request& r, std::int64_t document,
                                 std::string_view purpose) {
  const std::int64_t last = document - r.length, first = std::max<std::int64_t>(r.start, 0);
  if (last < first)
    throw pes::Refusal("a window of " + std::to_string(r.length) + " tokens from token " +
                       std::to_string(first) + " does not fit into a document of " +
                       std::to_string(document));
  if (r.start >= 0) return r.start;
  pes::Random random(pes::mix64(r.seed, r.split), pes::purpose(purpose), r.index);
  return static_cast<std::int64_t>(random.below64(static_cast<std::uint64_t>(last + 1)));
}

}  // namespace corpus
