// Whether an axis of a task changes its examples.
#pragma once

#include "check/guess.h"

namespace pesuite {

// Whether examples of two settings differ in any of many means and spreads: where they are scored
// and with what, how far back targets stand, how often and where tokens occur and repeat. False
// also where they differ in what none of these shows.
bool differ(const Examples&, const Examples&);

}  // namespace pesuite
