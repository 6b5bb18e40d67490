// The op table that plugins compute with, over a tape.
#pragma once

#include <pesuite/pesuite.h>

#include <exception>

#include "tensor/attention.h"

namespace pesuite {
constexpr int handle_bits = 24;  // a step makes a few thousand tensors
}

struct pes_ctx {
  pesuite::Tape* tape = nullptr;
  std::exception_ptr thrown;  // by an op; kept here, because nothing throws through a plugin
  std::uint32_t step = 0;     // marks the handles of this step

  void begin(pesuite::Tape& t) {
    tape = &t, thrown = nullptr;
    step = step % 255 + 1;
  }
  // A tensor as plugins see it. The upper eight bits tell the step that it was made in, so that a
  // handle which was kept beyond its step is known.
  pes_tensor lend(pesuite::Tensor t) const { return {t ? t.id | step << pesuite::handle_bits : 0}; }
  bool is_of_step(pes_tensor t) const { return t.id == 0 || t.id >> pesuite::handle_bits == step; }
  pesuite::Tensor tensor(pes_tensor t) const { return {t.id & ((1u << pesuite::handle_bits) - 1)}; }
  bool knows(pes_tensor t) const { return is_of_step(t) && tape->knows(tensor(t)); }
};

namespace pesuite {

const pes_ops& op_table();

// The slots of an attention as attend() gets them, and what it left in them.
pes_attention lend_slots(const pes_ctx&, int layer, Tensor x, const Attention&);
void take_slots(const pes_ctx&, const pes_attention&, Attention&);

}  // namespace pesuite
