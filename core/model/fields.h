// One list each of what a model and a training are configured by: names as suites and cells write
// them, ranges, meanings. Whoever reads, writes or describes a configuration walks these lists, so
// that a setting is added in its struct and here.
//
// A walk is called with each field and the value in the struct, a number, a flag, one of several
// names or a stretch of training, and has for the rest
//   either(field, flag, no, yes)     a flag that is written as one of two names
//   pair(field, first, second)       two numbers in [0, 1) as a list
//   constant(field, text)            nothing to choose from yet
//   extents(field, list)             stretches of training, of suites
//   group(field, there, body)        a table; body is called with the walk of its fields
#pragma once

#include <string>
#include <vector>

#include "model/train.h"

namespace pesuite {

struct Field {
  const char* name;
  double low = 0, high = 1e18;  // of numbers
  const char* help = "";
  bool optional = false;  // cells leave it out where it is 0: those of before keep their ids
};

// Names of the values, in their order.
inline std::vector<std::string> value_names(Norm) {
  return {"layernorm", "rmsnorm"};
}
inline std::vector<std::string> value_names(Activation) {
  return {"gelu", "swiglu", "gelu_tanh", "relu", "geglu"};
}
inline std::vector<std::string> value_names(QkNorm) {
  return {"off", "before", "after", "q", "k", "whole"};
}
inline std::vector<std::string> value_names(NormPlace) {
  return {"input", "output", "both"};
}
inline std::vector<std::string> value_names(Init) {
  return {"normal", "fan_in"};
}
inline std::vector<std::string> value_names(ScheduleKind) {
  return schedule_names();
}
inline std::vector<std::string> value_names(LengthKind) {
  return {"fixed", "uniform", "growing"};
}

inline constexpr double many = 1 << 20, long_run = 1LL << 40;

// ------------------------------------------------------------------------------------- model

// What published models have beyond the presets.
template <class Model, class Walk>  // of ModelConfig, const or not, as all below
void walk_forms(Model& c, Walk&& w) {
  w(Field{.name = "head_size",
          .high = many,
          .help = "Features of a head; 0: width / heads.",
          .optional = true},
    c.head_size);
  w(Field{.name = "window",
          .high = longest_length,
          .help = "Tokens that a token attends to, itself counted; 0: all before it.",
          .optional = true},
    c.window);
  w(Field{.name = "window_every",
          .high = many,
          .help = "Each so many-th layer has no window; 0: each has one.",
          .optional = true},
    c.window_every);
  w(Field{.name = "score_softcap",
          .high = 1e6,
          .help = "Scores c of queries and keys count as cap tanh(c / cap); 0: as they are.",
          .optional = true},
    c.score_softcap);
  w(Field{.name = "logit_softcap",
          .high = 1e6,
          .help = "The classifier's logits, in the same way.",
          .optional = true},
    c.logit_softcap);
  w(Field{.name = "norm_place",
          .help = "Of what a layer's parts read, of what they add, or of both.",
          .optional = true},
    c.norm_place);
  w(Field{.name = "scaled_embedding", .help = "Times the root of the width.", .optional = true},
    c.scaled_embedding);
  w(Field{.name = "qkv_bias", .help = "Of q, k and v alone.", .optional = true}, c.qkv_bias);
  w(Field{.name = "biasless_norm", .help = "Layer norms without bias.", .optional = true},
    c.biasless_norm);
  w(Field{.name = "embedding_norm", .help = "A norm behind the embedding.", .optional = true},
    c.embedding_norm);
  w(Field{.name = "shared_norm",
          .help = "Of parallel_residual: the mlp reads the attention's norm.",
          .optional = true},
    c.shared_norm);
  w(Field{.name = "padded_vocabulary",
          .high = 1 << 24,
          .help = "Tokens that the table has at least, of language models.",
          .optional = true},
    c.padded_vocabulary);
}

template <class Model, class Walk>
void walk_model(Model& c, Walk&& w) {
  w(Field{"width", 1, many, "Features of a token."}, c.width);
  w(Field{"layers", 1, many, "Each with attention and an MLP."}, c.layers);
  w(Field{"heads", 1, many, "Of attention, in each layer."}, c.heads);
  w(Field{"kv_heads", 0, many, "0: as many as heads."}, c.kv_heads);
  w(Field{"ff_width", 1, many, "Features inside the MLP."}, c.ff_width);
  w(Field{.name = "norm", .help = "Of layers, and before the classifier."}, c.norm);
  w(Field{"norm_eps", 0, 1, "Added to the variance in norms."}, c.norm_eps);
  w(Field{.name = "activation", .help = "Of the MLP; swiglu and geglu have gates."}, c.activation);
  w(Field{.name = "qk_norm",
          .help = "Of both, before or after the encoding acts; of q or k alone, before it; whole: "
                  "of both before it, over all heads at once."},
    c.qk_norm);
  w(Field{.name = "tie_embedding", .help = "The classifier is the embedding's table."}, c.tied);
  w(Field{.name = "parallel_residual", .help = "Attention and MLP both read a layer's input."},
    c.parallel);
  w(Field{.name = "attention_bias", .help = "Of q, k, v and the output."}, c.attention_bias);
  w(Field{.name = "mlp_bias", .help = "Of both of its matrices."}, c.mlp_bias);
  w(Field{.name = "head_bias", .help = "Of the classifier."}, c.head_bias);
  w(Field{"dropout", 0, 0.999, "Share of activations that training sets to 0."}, c.dropout);
  w(Field{.name = "init", .help = "GPT-2's or that of PyTorch's layers."}, c.init);
  walk_forms(c, w);
}

// What the task decides, in cells alone.
template <class Model, class Walk>
void walk_alphabet(Model& c, Walk&& w) {
  w(Field{"vocabulary", 1}, c.vocabulary);
  w(Field{"classes", 1}, c.classes);
  w(Field{.name = "positions", .low = 1, .optional = true}, c.positions);
}

// ---------------------------------------------------------------------------------- training

template <class Optimizer, class Walk>
void walk_optimizer(Optimizer& o, Walk&& w) {
  w.constant(Field{.name = "name", .help = "Loshchilov and Hutter 2019."}, "adamw");
  w(Field{"lr", 0, 100, "Peak learning rate."}, o.lr);
  w.pair(Field{.name = "betas", .help = "Decay of the first and of the second moment."}, o.beta1,
         o.beta2);
  w(Field{"eps", 0, 1, "Added to the root of the second moment."}, o.eps);
  w(Field{"weight_decay", 0, 100, "Of matrices; a step takes away this share times the rate."},
    o.weight_decay);
  w(Field{.name = "clip", .help = "Largest norm of the gradient; 0: no limit."}, o.clip);
}

template <class Schedule, class Walk>
void walk_schedule(Schedule& s, Walk&& w) {
  w(Field{.name = "kind", .help = "How it goes on behind the warm-up."}, s.kind);
  w(Field{.name = "warmup", .help = "The stretch at the beginning in which the rate rises."},
    s.warmup);
  w(Field{.name = "decay", .help = "Of wsd: the stretch at the end that falls."}, s.decay);
  w(Field{"floor", 0, 1, "Share of the peak that is left at the end."}, s.floor);
  if constexpr (requires { s.branches; })
    w.extents(
        Field{.name = "branches",
              .help = "Of wsd, instead of 'budget': budgets that share one trunk, each a task "
                      "ID@BUDGET of its own."},
        s.branches);
}

template <class Plan, class Stretch, class Walk>
void walk_lengths(Plan& l, Stretch& over, Walk&& w) {
  w(Field{.name = "kind", .help = "All the training length, drawn, or drawn up to one that grows."},
    l.kind);
  w(Field{"min", 1, longest_length, "Tokens."}, l.least);
  w(Field{"stride", 1, longest_length, "Tokens."}, l.stride);
  w(Field{.name = "over", .help = "Of growing: until the training length is reached."}, over);
  w(Field{.name = "shorter",
          .help = "Of growing: lengths below the one that is reached are drawn too."},
    l.shorter);
  w.either(
      Field{.name = "per", .help = "Each example has its own length, or all of a step the same."},
      l.per_step, "example", "step");
}

template <class Training>
auto& growth_of(Training& t) {  // a suite's is not in steps yet
  if constexpr (requires { t.lengths_over; })
    return t.lengths_over;
  else
    return t.lengths.over;
}

template <class Training, class Walk>  // of TrainConfig or a suite's TrainSettings
void walk_training(Training& t, Walk&& w) {
  w(Field{"micro_batch", 0, many,
          "Examples of a pass, the gradients of a step's passes being added; 0: as many as fit "
          "well."},
    t.micro_batch);
  w.group(Field{.name = "optimizer", .help = "AdamW and its numbers."}, true,
          [&](auto& inner) { walk_optimizer(t.optimizer, inner); });
  w.group(Field{.name = "schedule", .help = "The learning rate over training."}, true,
          [&](auto& inner) { walk_schedule(t.schedule, inner); });
  w(Field{"dropout_steps", -1, long_run, "Steps that drop out; -1: all."}, t.dropout_steps);
  w(Field{.name = "log_every", .help = "Between two lines of the log; 0: the last step alone."},
    t.log_every);
  w(Field{.name = "eval_every", .help = "Between two validations; 0: the last step alone."},
    t.eval_every);
  w(Field{.name = "checkpoint_every", .help = "Between two checkpoints; 0: the last step alone."},
    t.checkpoint_every);
  w(Field{"validation_examples", 1, longest_length, "Held out, of each validation."},
    t.validation_examples);
  w(Field{.name = "health",
          .help = "Observe gradients and updates of each part, entropy of the output and spikes of "
                  "the loss.",
          .optional = true},
    t.health);
  w.group(Field{.name = "early_stop",
                .help = "End where the validation loss has not fallen by min_delta in so many "
                        "validations, with the weights that had the lowest.",
                .optional = true},
          t.early_stop.patience > 0, [&](auto& inner) {
            inner(Field{"patience", 1, many, "Validations."}, t.early_stop.patience);
            inner(Field{.name = "min_delta", .high = 100, .help = "Nats."}, t.early_stop.min_delta);
          });
  w(Field{"keep_periodic", 0, many, "Checkpoints on the way to keep beside the others; 0: none."},
    t.keep_periodic);
  w.group(Field{.name = "lengths",
                .help = "Lengths of training examples: min, min + stride, ... up to the training "
                        "length.",
                .optional = true},
          t.lengths.kind != LengthKind::fixed,
          [&](auto& inner) { walk_lengths(t.lengths, growth_of(t), inner); });
  w(Field{"fill", 0, many,
          "0 to so many FILL tokens, drawn, stand before each training example, so that evaluation "
          "can ask for more (axis fill).",
          true},
    t.lengths.fill);
  w(Field{"shots", 0, 1 << 10,
          "0 to so many solved examples, drawn, stand before each training example, so that "
          "evaluation can show some (axis shots).",
          true},
    t.lengths.shots);
}

// What suites say otherwise, in cells alone.
template <class Training, class Walk>
void walk_steps(Training& t, Walk&& w) {
  w(Field{"train_len", 1}, t.length);
  w(Field{"batch", 1, 1e18, "Examples of a step."}, t.batch);
  w(Field{"steps", 1}, t.steps);
  w(Field{"keep_best"}, t.keep_best);
}

}  // namespace pesuite
