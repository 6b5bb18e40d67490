// Tables by distance that are lines, which some devices need not read: a number a head says it all.
#pragma once

#include <vector>

#include "tensor/shape.h"

namespace pesuite {

// The slope of each row of a table [rows, N] of which each row, rounded to fp32, is table[h, 0] -
// slope[h] d within two units in the last place of the larger of table[h, d] and table[h, 0].
// Empty where a row is no such line, or not finite. The constant is not told: a softmax over the
// scores to which the table is added ignores it.
std::vector<float> linear_slopes(const Shape&, const double* table);
std::vector<float> linear_slopes(const Shape&, const float* table);

}  // namespace pesuite
