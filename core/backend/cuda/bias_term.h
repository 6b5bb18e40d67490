// The gradient of a bias, from numbers that stand for all that it was added to.
#pragma once

#include "backend/cuda/walk.h"

namespace pesuite::cuda {

struct BiasTerm {  // of reduce(): an output is a number of the bias, a term one that it is added to
  const float* data;
  Parts<1> parts;
  PESUITE_HD float operator()(Index o, Index term) const {
    Index own[1], more[1];
    parts.own.at(o, own);
    parts.repeated.at(term, more);
    return data[own[0] + more[0]];
  }
};

}  // namespace pesuite::cuda
