/* pesuite.h -- the plugin interface of pesuite. C11 and C++20, no dependencies.
 *
 * This header is the specification: what is not written here is not promised.
 *
 * A plugin is a shared library that exports one constant, `pes_entry`, and hides
 * everything else. It offers positional encodings, tasks, or both. Loading it runs
 * none of its code: what it offers is read from constant descriptors.
 *
 * An encoding never sees a device pointer. Its hooks receive tensor handles and
 * compute with the host's op table; the host runs those ops on its backend (double
 * precision reference, oneDNN, cuDNN) and differentiates what it ran. So an encoding is
 * written once, without a gradient, and runs everywhere with exact gradients.
 *
 * Rules that hold for everything below
 *   sizes      Every struct that crosses the line starts with `size_t size`, the size
 *              its writer knew. Fields are only ever appended. A reader tests PES_HAS
 *              before it touches a field that was appended after major.0.
 *   arrays     hold pointers and end with a null pointer; structs never cross by value
 *              (a tensor handle is an integer in a struct's clothes).
 *   ownership  Descriptors, cards and options live as long as the library. What create()
 *              hands out belongs to the plugin until destroy(). Tensor handles belong to
 *              the step they were made in: nobody frees one, none outlives its step.
 *              Pointers passed to a function are loans for that call.
 *   errors     Nothing throws, aborts or exits across the line. Functions that can fail
 *              return false and write a sentence (what, why, what to do) into
 *              `error[PES_ERROR_SIZE]`. A failed op returns the null handle; ops on a null
 *              handle return it too; the host reports the first failure after the hook
 *              with the encoding, the hook, the op and the shapes. Hooks check nothing.
 *   threads    [any]   any thread, any number at once
 *              [setup] one thread, before or after all work on the instance
 *              [step]  one thread at a time per instance
 *   numbers    Tables and phases are handed over in double and rounded once by the host,
 *              so that positions of 2^20 and more keep their phase in every precision.
 *   letters    B batch, H query heads, G key-value heads (H is a multiple of G), T length,
 *              D head size, W width of the model, V size of an alphabet. */
#ifndef PESUITE_H_
#define PESUITE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library with another major is refused: a field has changed or gone. A library with a
 * newer minor loads (fields were appended; it must test PES_HAS on what the host gives
 * it); one with an older minor loads and never notices. */
#define PES_ABI_MAJOR 1
#define PES_ABI_MINOR 7

#define PES_MAX_RANK 4
#define PES_ERROR_SIZE 512

/* True when the struct behind `ptr` was written by somebody who knew `field`. */
#define PES_HAS(ptr, field) \
  ((ptr)->size >= offsetof(__typeof__(*(ptr)), field) + sizeof((ptr)->field))

/* ======================================================================== tensors, ops */

typedef struct pes_ctx pes_ctx; /* one step of one model; owned by the host */

/* A tensor of real numbers with 0 to PES_MAX_RANK axes, on the host's backend and in its
 * precision. Id 0 is the null handle. Values never change once made. */
typedef struct pes_tensor {
  uint32_t id;
} pes_tensor;

typedef enum pes_unary {
  PES_EXP,
  PES_LOG,
  PES_SIN,
  PES_COS,
  PES_TANH,
  PES_SIGMOID,
  PES_SOFTPLUS, /* log(1 + exp x), without overflow */
  PES_RELU,
  PES_ABS,  /* gradient sign(x), 0 at 0 */
  PES_SQRT, /* gradient 0 at 0 */
  PES_FLOOR /* no gradient */
} pes_unary;

typedef enum pes_binary {
  PES_ADD,
  PES_SUB,
  PES_MUL,
  PES_DIV,
  PES_MIN, /* at a tie the gradient goes to the first argument, so that min(max(p, low), */
  PES_MAX  /* high) passes it on at the bounds: a clamp whose start value may be a bound */
} pes_binary;

/* Which two features of the last axis form the pair r that turns by one angle. */
typedef enum pes_pairs {
  PES_PAIRS_HALF,       /* (r, r + n), n the number of pairs: GPT-NeoX, Llama in HF */
  PES_PAIRS_INTERLEAVED /* (2r, 2r + 1): RoFormer, GPT-J, Meta's Llama */
} pes_pairs;

/* The ops. All [step]. Each is differentiable in its tensor arguments, except in `index`
 * and through PES_FLOOR. "Broadcast" is numpy's: axes are aligned at the right and an
 * extent of 1 stretches. Negative axes count from the end. */
typedef struct pes_ops {
  size_t size;

  /* Gives the step up with a sentence; the first one is reported. */
  void (*fail)(pes_ctx*, const char* message);

  /* Writes the extents of `x` and returns its rank; -1 for the null handle. */
  int (*shape)(pes_ctx*, pes_tensor x, int64_t out[PES_MAX_RANK]);

  /* A constant from host memory, row-major, copied before the call returns. */
  pes_tensor (*upload)(pes_ctx*, int rank, const int64_t* shape, const double* data);

  pes_tensor (*unary)(pes_ctx*, pes_unary, pes_tensor x);
  pes_tensor (*binary)(pes_ctx*, pes_binary, pes_tensor a, pes_tensor b);   /* broadcast */
  pes_tensor (*affine)(pes_ctx*, pes_tensor x, double scale, double shift); /* scale x + shift */

  /* a [.., M, K] times b [.., K, N] -> [.., M, N]; with `transpose_b`, b is [.., N, K].
   * Leading axes broadcast. */
  pes_tensor (*matmul)(pes_ctx*, pes_tensor a, pes_tensor b, bool transpose_b);

  pes_tensor (*sum)(pes_ctx*, pes_tensor x, int axis); /* the axis stays, with extent 1 */
  /* Running sum along `axis`, both ends included; `reverse` starts at the end. */
  pes_tensor (*cumsum)(pes_ctx*, pes_tensor x, int axis, bool reverse);

  pes_tensor (*reshape)(pes_ctx*, pes_tensor x, int rank, const int64_t* shape);
  pes_tensor (*permute)(pes_ctx*, pes_tensor x, const int* axes); /* out axis i is axes[i] of x */
  pes_tensor (*slice)(pes_ctx*, pes_tensor x, int axis, int64_t start, int64_t length);
  pes_tensor (*concat)(pes_ctx*, pes_tensor a, pes_tensor b, int axis);

  /* out[.., j] = x[.., index[.., j]]; leading axes of both broadcast. An index is rounded to
   * the nearest integer; outside 0 .. extent-1 the op fails where it can see it, and is
   * clamped on the device. */
  pes_tensor (*take)(pes_ctx*, pes_tensor x, pes_tensor index);
  /* out[j, ..] = x[index[j], ..]: rows of a table by a vector of indices, as in take. */
  pes_tensor (*rows)(pes_ctx*, pes_tensor x, pes_tensor index);

  /* Turns the n pairs of the first 2n features of x's last axis, n the last extent of cos
   * and sin: (a, b) -> (a cos - b sin, b cos + a sin). The remaining features pass. cos and
   * sin broadcast against x without its last axis; a factor on both scales the pair. */
  pes_tensor (*rotate)(pes_ctx*, pes_tensor x, pes_tensor cos, pes_tensor sin, pes_pairs);

  /* Appended in 1.2. A plugin that needs it tests PES_HAS, or fails with a sentence. */

  /* x along its last axis, between whole numbers on a line:
   * out[.., j] = (1 - w) x[.., n] + w x[.., n + 1], p = position[.., j], n = floor p, w = p - n.
   * Leading axes of both broadcast. p is clamped to 0 .. extent-1; out passes no gradient to a
   * position outside of these. At a whole number the slope is that of the way up, which is 0
   * behind the last entry. */
  pes_tensor (*interpolate)(pes_ctx*, pes_tensor x, pes_tensor position);

  /* Appended in 1.4. */

  /* A service of the host beyond this table, by id and revision: a constant struct, or null where
   * the host does not have it at this revision. Another layout or meaning is another revision.
   * What an id that starts with "draft." gives may change or go with any release; what any other
   * gives stays as long as the major. [any] */
  const void* (*extension)(const char* id, uint32_t revision);
} pes_ops;

/* The extension "log", revision 1. */
typedef struct pes_log {
  size_t size;
  void (*say)(pes_ctx*, const char* sentence); /* into the log of the cell. [step] */
} pes_log;

/* ============================================= what a library says of itself, all [any] */

typedef enum pes_type {
  PES_BOOL,   /* "true" or "false" */
  PES_INT,    /* decimal */
  PES_REAL,   /* decimal, also "inf" */
  PES_TEXT,   /* anything */
  PES_CHOICE, /* one of `choices` */
  PES_REALS   /* "[1, 2.5, 4]" */
} pes_type;

typedef struct pes_option {
  size_t size;
  const char* name;  /* lower_snake, unique within its card */
  const char* value; /* the default, as text */
  const char* help;  /* one sentence; units where there are any */
  pes_type type;
  double low, high;    /* bounds of PES_INT, PES_REAL and each of PES_REALS, both included */
  const char* choices; /* of PES_CHOICE, separated by '|'; else null */
} pes_option;

enum {                               /* what an encoding claims for its default options */
       PES_RELATIVE = 1 << 0,        /* scores depend on positions through i - j only */
       PES_PARAMETER_FREE = 1 << 1,  /* learns nothing */
       PES_NORM_PRESERVING = 1 << 2, /* q and k keep their norms */
       PES_MONOTONE_DECAY = 1 << 3,  /* its bias never grows with distance */
       PES_UNBOUNDED = 1 << 4        /* defined at any length, no table to run past */
};

enum {                              /* what an encoding is of use for, beyond training with it */
       PES_WITHOUT_TUNING = 1 << 0, /* takes over a trained model as it is, no step of training */
       PES_SEARCHED = 1 << 1,       /* wants values that are searched for on a trained model */
       PES_PLACED = 1 << 2          /* reads the positions that a task gives its tokens */
};

typedef struct pes_card {
  size_t size;
  const char* name;     /* lower_snake, unique among all libraries, as a suite writes it */
  const char* summary;  /* one line */
  const char* version;  /* of the definition: results of different versions are not compared */
  const char* taxonomy; /* tasks: the family; encodings: words of absolute, relative, hybrid; fixed,
                           learned, randomized; additive, multiplicative, bias, contextual; none,
                           schedule; with commas: "relative, fixed or learned, bias" */
  const char* used_in;  /* well-known users, or null */
  const char* paper;    /* "Su et al. 2021, arXiv:2104.09864", or null */
  const char* bibtex;   /* one entry, or null */
  uint32_t claims;      /* of an encoding: PES_RELATIVE and so on */
  const pes_option* const* options; /* ends with a null pointer; null for none */

  /* Appended in 1.1, of encodings; each may be null or 0. Readers test PES_HAS. */
  const char* cost;      /* work beyond attention without an encoding: none, minimal (tables and
                            products), low (a small network or look-ups), moderate (a second pass over
                            the scores, an integration), high */
  const char* rating;    /* of its length generalization, what is claimed and not what we measured:
                            poor, fair, good, excellent; then in brackets who claims it */
  const char* extension; /* how far it is said to take a context: none, limited (2x), moderate (4x),
                            2-8x, unlimited; then in brackets who says so */
  const char* extends;   /* names of the encodings whose trained models it can take over, separated
                            by '|' */
  const char* use_if;    /* when to use it, clauses separated by '|': "deployment is longer than
                            training|nothing may be learned" */
  uint32_t uses;         /* PES_WITHOUT_TUNING and so on */

  /* Appended in 1.3, of encodings; may be null. */
  const char* tune; /* settings that tuning tries beside the defaults, the most promising first, as
                       options are written, separated by '|': "base=0|base=100,features=0.5" */
} pes_card;

/* =========================================================================== encodings */

typedef struct pes_model { /* what an encoding may know of the model it serves */
  size_t size;
  int32_t layers, heads, kv_heads, head_dim, width;
  int32_t train_length; /* of the sequences that training begins with: what is stretched, and what
                           "beyond training" means; a later stage may train on longer ones */
  int32_t max_length;   /* longest sequence of training and evaluation */

  /* Appended in 1.1. */
  uint32_t unused;   /* was padding, which the size does not tell from a field */
  int32_t positions; /* the task gives its tokens positions of its own, 0 .. positions - 1; 0: they
                        stand at their places */
} pes_model;

typedef enum pes_phase { PES_TRAIN, PES_EVAL } pes_phase;

/* One forward pass. Hooks are pure in (options, parameters, this): the host may call them
 * again for the same step, and does when it recomputes a block in the backward pass. */
typedef struct pes_step {
  size_t size;
  pes_ctx* ctx;
  const pes_ops* ops;
  const pes_tensor* params; /* in the order that create() listed them */
  pes_phase phase;
  int64_t step, steps; /* training steps done, and planned */
  uint64_t seed;       /* the only randomness a hook may use; the same for a step's calls */
  int32_t batch, length;
  int32_t offset; /* position of the first token: not 0 when decoding with cached keys */

  /* Appended in 1.1. */
  uint32_t unused;      /* was padding, which the size does not tell from a field */
  pes_tensor positions; /* [B, T], where the task says that tokens stand (and `offset` further); the
                           null handle: token n stands at offset + n */
} pes_step;

typedef struct pes_attention { /* one layer's attention, before the scores exist */
  size_t size;
  int32_t layer;
  pes_tensor x;        /* in:     [B, T, W], the layer's normalized input */
  pes_tensor q;        /* in/out: [B, H, T, D]; the last axis may grow, in q and k alike */
  pes_tensor k;        /* in/out: [B, G, T, D] */
  double scale;        /* in/out: factor of q.k, 1/sqrt(D) at first */
  pes_tensor distance; /* out: [H or 1, T or more], adds distance[h, i - j] for j <= i; fused */
  pes_tensor bias;     /* out: broadcasts to [B, H, T, T] and is added; fused with a read; -inf or a
                          large negative number (-1e9) hides a key, but never a query's own */
  bool rewrite;        /* out: true has rewrite() called; the layer runs composed, unless all that
                          does is add to the scores */
} pes_attention;

/* A block of rows of the scores, before causal mask and softmax. S is the number of keys that
 * any row of the block may see, first + rows <= S <= T. */
typedef struct pes_scores {
  size_t size;
  int32_t layer;
  int32_t first;      /* row 0 of the block is query `first` of the sequence */
  pes_tensor x;       /* in: [B, T, W] as in pes_attention */
  pes_tensor q;       /* in: [B, H, rows, D], the block's rows of what attend() left */
  pes_tensor k;       /* in: [B, G, S, D] */
  pes_tensor visible; /* in: [rows, S], 1 where the row may see the key, else 0 */
  double scale;       /* in: what attend() left */
  pes_tensor scores;  /* in/out: [B, H, rows, S], scale q.k + distance + bias; the host masks
                         the invisible columns afterwards */

  /* Appended in 1.1. */
  uint32_t unused; /* was padding, which the size does not tell from a field */
  pes_tensor v;    /* in: [B, G, T, E], the values of all tokens */
} pes_scores;

typedef struct pes_param { /* a learnable parameter; the host owns, trains and saves it */
  size_t size;
  const char* name; /* lower_snake, unique within the encoding */
  int32_t rank;
  int64_t shape[PES_MAX_RANK];
  bool decay; /* weight decay wanted */

  /* Appended in 1.1. */
  double low, high; /* the host moves what is out of these bounds into them, in place, before a
                       pass uses it; low = high: none */
} pes_param;

typedef struct pes_created { /* filled by create(); owned by the plugin until destroy() */
  size_t size;
  void* self;
  const pes_param* const* params; /* ends with a null pointer; null for none */
} pes_created;

/* An encoding acts at up to four places. A null hook means "does not act there" and costs
 * nothing; a hook may leave what it is given untouched, which is how a schedule ends. */
typedef struct pes_encoding {
  size_t size;
  const pes_card* card;

  /* values[i] is the text of options[i], already checked against type and bounds. [setup] */
  bool (*create)(const pes_model*, const char* const* values, pes_created* out, char* error);
  void (*destroy)(void* self); /* [setup] */

  /* Fills `out` with the start value of parameter `param`, from `seed` only. [setup] */
  void (*init)(const void* self, int32_t param, uint64_t seed, float* out);

  /* Once a step, before the model: builds or extends tables in double and uploads them.
   * Handles it keeps in `self` are valid until the step ends. Null: nothing to do. [step] */
  void (*begin)(void* self, const pes_step*);

  /* Changes the token embeddings, [B, T, W] in and out. [step] */
  pes_tensor (*embed)(const void* self, const pes_step*, pes_tensor x);

  /* Changes q, k or scale, sets distance, bias or rewrite. Once a layer, and again where the
   * backward pass computes a layer anew. [step] */
  void (*attend)(const void* self, const pes_step*, pes_attention*);

  /* Changes a block of score rows by content. Called when attend() asked for it. [step] */
  void (*rewrite)(const void* self, const pes_step*, pes_scores*);

  /* Share (0 to 1) of the positions or distances that occur at `length` and use parameters
   * which training at train_length never reaches; null: 0 at every length. [any] */
  double (*untrained)(const void* self, int32_t length);

  /* Appended in 1.7. Whether what it does in evaluation to the first `from` tokens of a sequence
   * changes when the sequence grows to `to` tokens, as dynamic scaling does, so that what was
   * cached of them is of no use. Null: it never does. [any] */
  bool (*stale)(const void* self, int32_t from, int32_t to);
} pes_encoding;

/* =============================================================================== tasks */

/* Token ids that every task shares; a task's own symbols start at PES_FIRST_SYMBOL, except
 * where its definition says otherwise. */
enum { PES_PAD = 0, PES_BOS, PES_SEP, PES_EOS, PES_ASK, PES_FILL, PES_FIRST_SYMBOL = 8 };

typedef enum pes_head {
  PES_LM,  /* the target is a token: targets[t] is tokens[t + 1] where scored */
  PES_TAG, /* a class for each position */
  PES_CLS  /* a class at the last position */
} pes_head;

typedef enum pes_split { PES_SPLIT_TRAIN, PES_SPLIT_VALIDATION, PES_SPLIT_TEST } pes_split;

typedef struct pes_axis { /* a coordinate to evaluate over: depth, distance, window, ... */
  size_t size;
  const char *name, *unit, *help;
  const double* values;      /* the values worth evaluating */
  const char* const* labels; /* names of the values, or null */
  int32_t count;
  int32_t trained; /* the first `trained` of the values occur in training: in distribution */
} pes_axis;

typedef struct pes_shortcut { /* a cheap rule that is known to score above chance here */
  size_t size;
  const char* name; /* majority, last_token, position, length, bag */
  double level;     /* accuracy it reaches, 0 to 1 */
  const char* why;
} pes_shortcut;

typedef struct pes_use { /* what a task may know of its use */
  size_t size;
  int32_t train_length, max_length; /* longest sequence of training, and of anything */
  int32_t
      reach; /* corpora: tokens of a document that evaluation windows reach, max_length or more */
} pes_use;

typedef struct pes_task_created { /* filled by create(); owned by the task until destroy() */
  size_t size;
  void* self;
  int32_t inputs;  /* size of the token alphabet */
  int32_t outputs; /* size of the target alphabet; PES_LM: equal to inputs */
  pes_head head;
  int64_t document;            /* corpora: tokens in a document, of which an example is a window;
                                  0: each example stands alone */
  int64_t documents[3];        /* corpora: documents of each split that exist; 0: any number */
  const int32_t* token_bytes;  /* bytes of text behind each token, `inputs` long, of which none
                                  is PAD, FILL or the like then; or null */
  const char* digest;          /* identity of data read from outside (a hash), or null */
  const char* note;            /* a sentence about that data for the log, or null */
  const pes_axis* const* axes; /* ends with a null pointer; null for none */
  const pes_shortcut* const* shortcuts; /* ends with a null pointer; null for none */
  /* Since minor 1. PES_LM: tokens candidate_first .. + candidates - 1 are the possible answers.
   * Where the target is one of them, the model's ranking of all of them is scored too. 0: none. */
  int32_t candidate_first, candidates;
  /* Since minor 1. sample() gives tokens positions of the task's own, 0 .. positions - 1, for
   * encodings that read them (PES_PLACED). 0: tokens stand at their places. */
  int32_t positions;

  /* Appended in 1.5. */
  uint32_t unused;                 /* was padding, which the size does not tell from a field */
  const int32_t* candidate_tokens; /* the `candidates` possible answers, each once, where they are
                                      no run of tokens; null: candidate_first says them */

  /* Appended in 1.6. PES_LM: where `separated` is not 0, a document begins at each token
   * `separator`, and no token attends to what stands before its document. */
  int32_t separated, separator;
} pes_task_created;

typedef struct pes_request { /* names one example; everything about it follows from this */
  size_t size;
  pes_split split;
  uint64_t seed, index;
  int32_t length;
  int64_t start;      /* corpora: first token of the window in document `index`; -1: the task
                         draws it. Others ignore it. */
  const double* axes; /* one value an axis, in the order declared; NaN: drawn as in training */
} pes_request;

typedef struct pes_example { /* arrays of the host, `length` long; the task fills all of them */
  size_t size;
  int32_t* tokens;
  int32_t* targets; /* what to predict after reading tokens[0..t]; -1: nothing is scored */
  double* optimum;  /* may be null: the best possible nats of each scored target for one who
                       knows the rules and sees this window; NaN where it is not known */

  /* Since minor 1. */
  int32_t* positions; /* where tokens stand; null where nobody asks, or the task declares none */
  int32_t* distances; /* of scored targets that must be recalled: how many tokens before the
                         target's place that stands which they hang on, 0 where the window does not
                         hold it; -1, which the host fills in, of all others. Null where nobody
                         asks */
} pes_example;

typedef struct pes_task {
  size_t size;
  const pes_card* card;

  bool (*create)(const pes_use*, const char* const* values, pes_task_created* out,
                 char* error); /* values as in pes_encoding.create. [setup] */
  void (*destroy)(void* self); /* [setup] */

  /* Pure in its arguments: any thread may make any example. False with a sentence when
   * such an example cannot exist. [any] */
  bool (*sample)(const void* self, const pes_request*, pes_example* out, char* error);

  /* Answers from the visible tokens alone: targets[t] from tokens[0..t], and must equal the
   * target wherever one is scored. Null for corpora. [any] */
  void (*oracle)(const void* self, const int32_t* tokens, int32_t length, int32_t* targets);

  /* Accuracy of the best guess that ignores the input: the share of an example's targets that are
   * right, on average over examples. NaN for corpora. [any] */
  double (*chance)(const void* self, int32_t length);

  /* log10 of the number of distinct examples at `length`; infinity where unbounded. [any] */
  double (*distinct)(const void* self, int32_t length);

  /* Since minor 1. Chance at the length and axes of `request` (its index and seed are not looked
   * at): the share of targets that the best guess of one who ignores the input gets right, and
   * the share of examples of which it gets all right; NaN where unknown. Null: chance() at all
   * values of the axes, and the second is unknown. [any] */
  void (*chance_at)(const void* self, const pes_request*, double* accuracy, double* exact);

  /* Since minor 1. The law behind `optimum`. `tokens`, `length` of them, begin a document, or are
   * an example; the reader sees those from `start` on, and knows of the others what sample() lets
   * him know of what stands before a window. nats is [length - start, outputs]: row t - start has
   * -ln P(the target at t is v) of every v for one who has read token t, infinity where v cannot
   * come; P of a row sums to 1. Null: the law is not known. [any] */
  void (*predict)(const void* self, const int32_t* tokens, int32_t length, int32_t start,
                  double* nats);
} pes_task;

/* ============================================================================= library */

typedef struct pes_library {
  size_t size;
  uint32_t abi_major, abi_minor; /* PES_ABI_MAJOR and PES_ABI_MINOR it was built with */
  const char *name, *version, *licence;
  const pes_encoding* const* encodings; /* ends with a null pointer; null for none */
  const pes_task* const* tasks;         /* ends with a null pointer; null for none */

  /* Appended in 1.4. */
  uint32_t needs_minor; /* hosts of an older minor refuse the library; 0: it tests PES_HAS */
} pes_library;

/* The one exported symbol. */
extern __attribute__((visibility("default"))) const pes_library pes_entry;

#ifdef __cplusplus
}
#endif
#endif /* PESUITE_H_ */
