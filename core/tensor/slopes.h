// Tables by distance that are lines, so that a slope a head is enough for devices, or level from a
// distance on, so that no table is from there on.
#pragma once

#include <vector>

#include "base/shape.h"

namespace pesuite {

// The slope of each row of a table [rows, N]. Row h, rounded to fp32, must be table[h, 0] -
// slope[h] d within two units in the last place of the larger of table[h, d] and table[h, 0].
// Empty where a row is not such a line, or not finite. The constant is left out: the softmax over
// the scores ignores it.
std::vector<float> linear_slopes(const Shape&, const double* table);
std::vector<float> linear_slopes(const Shape&, const float* table);

// The first of those equal numbers that a list ends with; N - 1 where its last two differ, 0 where
// all are equal.
std::int64_t level_from(std::int64_t N, const double* list);
std::int64_t level_from(std::int64_t N, const float* list);

}  // namespace pesuite
