// The op table that plugins compute with, over a tape.
#pragma once

#include <pesuite/pesuite.h>

#include <exception>

#include "tensor/tape.h"

struct pes_ctx {
  pesuite::Tape* tape = nullptr;
  std::exception_ptr thrown;  // by an op; kept here, because nothing throws through a plugin
};

namespace pesuite {

const pes_ops& op_table();

}  // namespace pesuite
