// The header of today against the first one of this major, kept as it was: what was compiled
// against that one must still find every field where it left it. The compiler proves it; the test
// below asks what only a running program shows.
#include <gtest/gtest.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <string>

// The frozen header in a namespace of its own, beside today's.
#define pes_entry pes_entry_of_the_first_minor
namespace first {
#include "tests/abi/pesuite-1.0.h"
constexpr int major = PES_ABI_MAJOR, max_rank = PES_MAX_RANK, error_size = PES_ERROR_SIZE;
}  // namespace first
#undef pes_entry
#undef PESUITE_H_
#undef PES_ABI_MAJOR
#undef PES_ABI_MINOR
#undef PES_MAX_RANK
#undef PES_ERROR_SIZE
#undef PES_HAS
#include <pesuite/pesuite.h>

#include "plugin/library.h"

namespace pesuite::testing {
namespace {

static_assert(PES_ABI_MAJOR == first::major, "a new major needs a frozen header of its own");
static_assert(PES_MAX_RANK == first::max_rank && PES_ERROR_SIZE == first::error_size,
              "arrays of these sizes are in compiled plugins");

// A field has moved, or changed its size: that needs a new major.
#define FIELD(type, field)                                                                  \
  static_assert(offsetof(first::type, field) == offsetof(::type, field), #type "." #field); \
  static_assert(sizeof(first::type::field) == sizeof(::type::field), #type "." #field)
// pes_tensor
FIELD(pes_tensor, id);
// pes_ops
FIELD(pes_ops, size);
FIELD(pes_ops, fail);
FIELD(pes_ops, shape);
FIELD(pes_ops, upload);
FIELD(pes_ops, unary);
FIELD(pes_ops, binary);
FIELD(pes_ops, affine);
FIELD(pes_ops, matmul);
FIELD(pes_ops, sum);
FIELD(pes_ops, cumsum);
FIELD(pes_ops, reshape);
FIELD(pes_ops, permute);
FIELD(pes_ops, slice);
FIELD(pes_ops, concat);
FIELD(pes_ops, take);
FIELD(pes_ops, rows);
FIELD(pes_ops, rotate);
// pes_option
FIELD(pes_option, size);
FIELD(pes_option, name);
FIELD(pes_option, value);
FIELD(pes_option, help);
FIELD(pes_option, type);
FIELD(pes_option, low);
FIELD(pes_option, high);
FIELD(pes_option, choices);
// pes_card
FIELD(pes_card, size);
FIELD(pes_card, name);
FIELD(pes_card, summary);
FIELD(pes_card, version);
FIELD(pes_card, taxonomy);
FIELD(pes_card, used_in);
FIELD(pes_card, paper);
FIELD(pes_card, bibtex);
FIELD(pes_card, claims);
FIELD(pes_card, options);
// pes_model
FIELD(pes_model, size);
FIELD(pes_model, layers);
FIELD(pes_model, heads);
FIELD(pes_model, kv_heads);
FIELD(pes_model, head_dim);
FIELD(pes_model, width);
FIELD(pes_model, train_length);
FIELD(pes_model, max_length);
// pes_step
FIELD(pes_step, size);
FIELD(pes_step, ctx);
FIELD(pes_step, ops);
FIELD(pes_step, params);
FIELD(pes_step, phase);
FIELD(pes_step, step);
FIELD(pes_step, steps);
FIELD(pes_step, seed);
FIELD(pes_step, batch);
FIELD(pes_step, length);
FIELD(pes_step, offset);
// pes_attention
FIELD(pes_attention, size);
FIELD(pes_attention, layer);
FIELD(pes_attention, x);
FIELD(pes_attention, q);
FIELD(pes_attention, k);
FIELD(pes_attention, scale);
FIELD(pes_attention, distance);
FIELD(pes_attention, bias);
FIELD(pes_attention, rewrite);
// pes_scores
FIELD(pes_scores, size);
FIELD(pes_scores, layer);
FIELD(pes_scores, first);
FIELD(pes_scores, x);
FIELD(pes_scores, q);
FIELD(pes_scores, k);
FIELD(pes_scores, visible);
FIELD(pes_scores, scale);
FIELD(pes_scores, scores);
// pes_param
FIELD(pes_param, size);
FIELD(pes_param, name);
FIELD(pes_param, rank);
FIELD(pes_param, shape);
FIELD(pes_param, decay);
// pes_created
FIELD(pes_created, size);
FIELD(pes_created, self);
FIELD(pes_created, params);
// pes_encoding
FIELD(pes_encoding, size);
FIELD(pes_encoding, card);
FIELD(pes_encoding, create);
FIELD(pes_encoding, destroy);
FIELD(pes_encoding, init);
FIELD(pes_encoding, begin);
FIELD(pes_encoding, embed);
FIELD(pes_encoding, attend);
FIELD(pes_encoding, rewrite);
FIELD(pes_encoding, untrained);
// pes_axis
FIELD(pes_axis, size);
FIELD(pes_axis, name);
FIELD(pes_axis, unit);
FIELD(pes_axis, help);
FIELD(pes_axis, values);
FIELD(pes_axis, labels);
FIELD(pes_axis, count);
FIELD(pes_axis, trained);
// pes_shortcut
FIELD(pes_shortcut, size);
FIELD(pes_shortcut, name);
FIELD(pes_shortcut, level);
FIELD(pes_shortcut, why);
// pes_use
FIELD(pes_use, size);
FIELD(pes_use, train_length);
FIELD(pes_use, max_length);
FIELD(pes_use, reach);
// pes_task_created
FIELD(pes_task_created, size);
FIELD(pes_task_created, self);
FIELD(pes_task_created, inputs);
FIELD(pes_task_created, outputs);
FIELD(pes_task_created, head);
FIELD(pes_task_created, document);
FIELD(pes_task_created, documents);
FIELD(pes_task_created, token_bytes);
FIELD(pes_task_created, digest);
FIELD(pes_task_created, note);
FIELD(pes_task_created, axes);
FIELD(pes_task_created, shortcuts);
// pes_request
FIELD(pes_request, size);
FIELD(pes_request, split);
FIELD(pes_request, seed);
FIELD(pes_request, index);
FIELD(pes_request, length);
FIELD(pes_request, start);
FIELD(pes_request, axes);
// pes_example
FIELD(pes_example, size);
FIELD(pes_example, tokens);
FIELD(pes_example, targets);
FIELD(pes_example, optimum);
// pes_task
FIELD(pes_task, size);
FIELD(pes_task, card);
FIELD(pes_task, create);
FIELD(pes_task, destroy);
FIELD(pes_task, sample);
FIELD(pes_task, oracle);
FIELD(pes_task, chance);
FIELD(pes_task, distinct);
// pes_library
FIELD(pes_library, size);
FIELD(pes_library, abi_major);
FIELD(pes_library, abi_minor);
FIELD(pes_library, name);
FIELD(pes_library, version);
FIELD(pes_library, licence);
FIELD(pes_library, encodings);
FIELD(pes_library, tasks);
#undef FIELD

struct Any {  // stands for a value of any type
  template <class T>
  constexpr operator T() const;
};
template <class T, class... Values>
consteval std::size_t arity() {  // numbers and pointers that an aggregate takes
  if constexpr (requires { T{Values{}..., Any{}}; })
    return arity<T, Values..., Any>();
  else
    return sizeof...(Values);
}

// A struct may only grow, and what is appended starts behind the old end: a field in the old
// padding would be taken for present in the structs of an older host.
#define GROWS(type)                                                                                \
  static_assert(sizeof(::type) > sizeof(first::type) || (sizeof(::type) == sizeof(first::type) &&  \
                                                         arity<::type>() == arity<first::type>()), \
                #type " has shrunk, or a field stands in its padding")
GROWS(pes_tensor);
GROWS(pes_ops);
GROWS(pes_option);
GROWS(pes_card);
GROWS(pes_model);
GROWS(pes_step);
GROWS(pes_attention);
GROWS(pes_scores);
GROWS(pes_param);
GROWS(pes_created);
GROWS(pes_encoding);
GROWS(pes_axis);
GROWS(pes_shortcut);
GROWS(pes_use);
GROWS(pes_task_created);
GROWS(pes_request);
GROWS(pes_example);
GROWS(pes_task);
GROWS(pes_library);
#undef GROWS

#define VALUE(name)                                                        \
  static_assert(static_cast<int>(first::name) == static_cast<int>(::name), \
                #name " has another value")
VALUE(PES_EXP);
VALUE(PES_LOG);
VALUE(PES_SIN);
VALUE(PES_COS);
VALUE(PES_TANH);
VALUE(PES_SIGMOID);
VALUE(PES_SOFTPLUS);
VALUE(PES_RELU);
VALUE(PES_ABS);
VALUE(PES_SQRT);
VALUE(PES_FLOOR);
VALUE(PES_ADD);
VALUE(PES_SUB);
VALUE(PES_MUL);
VALUE(PES_DIV);
VALUE(PES_MIN);
VALUE(PES_MAX);
VALUE(PES_PAIRS_HALF);
VALUE(PES_PAIRS_INTERLEAVED);
VALUE(PES_BOOL);
VALUE(PES_INT);
VALUE(PES_REAL);
VALUE(PES_TEXT);
VALUE(PES_CHOICE);
VALUE(PES_REALS);
VALUE(PES_RELATIVE);
VALUE(PES_PARAMETER_FREE);
VALUE(PES_NORM_PRESERVING);
VALUE(PES_MONOTONE_DECAY);
VALUE(PES_UNBOUNDED);
VALUE(PES_TRAIN);
VALUE(PES_EVAL);
VALUE(PES_PAD);
VALUE(PES_BOS);
VALUE(PES_SEP);
VALUE(PES_EOS);
VALUE(PES_ASK);
VALUE(PES_FILL);
VALUE(PES_FIRST_SYMBOL);
VALUE(PES_LM);
VALUE(PES_TAG);
VALUE(PES_CLS);
VALUE(PES_SPLIT_TRAIN);
VALUE(PES_SPLIT_VALIDATION);
VALUE(PES_SPLIT_TEST);
#undef VALUE

// Compiled from the frozen header alone, in C.
TEST(Canary, OfTheFirstMinorIsLoaded) {
  const Library canary = Library::open(PESUITE_CANARY);
  EXPECT_EQ(canary.entry().abi_minor, 0u);
  ASSERT_EQ(canary.encodings().size(), 1u);
  EXPECT_EQ(std::string(canary.encodings()[0]->card->name), "canary");
  ASSERT_EQ(canary.tasks().size(), 1u);
  EXPECT_EQ(std::string(canary.tasks()[0]->card->name), "canary_echo");
}

}  // namespace
}  // namespace pesuite::testing
