// What changed between two measurements, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "analysis/changes.h"
#include "base/json.h"
#include "report/document.h"

namespace pesuite {

// "regressed: 2 of 24 series, ...": the answer, and all that it rests on.
std::string verdict_sentence(const Changes&);
// brief: gated series that changed or may have, for a terminal; whole: every series and number.
enum class ComparisonDetail { brief, whole };
Document comparison_document(const Changes&, ComparisonDetail);
Json to_json(const Changes&);  // pesuite.comparison/1
// Of each task, the encodings of both over length, one over the other.
std::vector<Figure> overlaid_figures(const Measurement& before, const Measurement& after);

// Writes comparison.md and .html, comparison.json and figures/ into a folder, which is made. Gives what could
// not be drawn.
std::vector<std::string> write_comparison(const std::filesystem::path& folder, const Changes&,
                                          const Measurement& before, const Measurement& after);

}  // namespace pesuite
