/* A plugin as somebody wrote and compiled it against the first header of this major, in plain C:
 * an encoding that acts at all four places, has options and a parameter, and a task. Every later
 * pesuite must load it and find nothing wrong with it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CANARY_HEADER /* the frozen one, unless a comparison asks for today's */
#define CANARY_HEADER "pesuite-1.0.h"
#endif
#include CANARY_HEADER

/* ---- canary: a bias of -slope ln(1 + distance), a learned factor of the embedding, and a gate on
 * the scores */

typedef struct {
  double slope;
  int heads;
  pes_param scale;
  const pes_param* params[2];
  pes_tensor distance;
} canary;

static bool create(const pes_model* model, const char* const* values, pes_created* out,
                   char* error) {
  if (!PES_HAS(model, max_length)) {
    snprintf(error, PES_ERROR_SIZE, "needs to know the longest sequence");
    return false;
  }
  canary* c = calloc(1, sizeof *c);
  if (c == NULL) {
    snprintf(error, PES_ERROR_SIZE, "out of memory");
    return false;
  }
  c->slope = strtod(values[0], NULL);
  c->heads = model->heads;
  c->scale.size = sizeof c->scale;
  c->scale.name = "scale";
  c->scale.rank = 1;
  c->scale.shape[0] = model->width;
  c->params[0] = &c->scale;
  out->self = c;
  out->params = c->params;
  return true;
}

static void destroy(void* self) {
  free(self);
}

static void init(const void* self, int32_t param, uint64_t seed, float* out) {
  const canary* c = self;
  (void)param, (void)seed;
  for (int64_t i = 0; i < c->scale.shape[0]; ++i) out[i] = 1;
}

static void begin(void* self, const pes_step* s) {
  canary* c = self;
  const int64_t shape[] = {c->heads, (int64_t)s->offset + s->length};
  double* table = malloc(sizeof(double) * (size_t)(shape[0] * shape[1]));
  if (table == NULL) {
    s->ops->fail(s->ctx, "out of memory");
    return;
  }
  for (int64_t h = 0; h < shape[0]; ++h)
    for (int64_t d = 0; d < shape[1]; ++d)
      table[h * shape[1] + d] = -c->slope / (double)(h + 1) * log1p((double)d);
  c->distance = s->ops->upload(s->ctx, 2, shape, table);
  free(table);
}

static pes_tensor embed(const void* self, const pes_step* s, pes_tensor x) {
  (void)self;
  return s->ops->binary(s->ctx, PES_MUL, x, s->params[0]);
}

static void attend(const void* self, const pes_step* s, pes_attention* a) {
  (void)s;
  a->distance = ((const canary*)self)->distance;
  a->rewrite = a->layer == 0;
}

static void rewrite(const void* self, const pes_step* s, pes_scores* c) {
  (void)self;
  const pes_tensor gate = s->ops->unary(s->ctx, PES_SIGMOID, c->scores);
  const pes_tensor open = s->ops->binary(s->ctx, PES_MUL, gate, c->visible);
  const pes_tensor count = s->ops->cumsum(s->ctx, open, -1, true);
  c->scores = s->ops->binary(s->ctx, PES_SUB, c->scores, s->ops->affine(s->ctx, count, 0.1, 0));
}

static double untrained(const void* self, int32_t length) {
  (void)self, (void)length;
  return 0;
}

static const pes_option slope = {sizeof(pes_option), "slope", "0.5", "fall of the score",
                                 PES_REAL,           0,       100,   NULL};
static const pes_option flavour = {sizeof(pes_option), "flavour", "plain", "of no effect",
                                   PES_CHOICE,         0,         0,       "plain|other"};
static const pes_option* const options[] = {&slope, &flavour, NULL};
static const pes_card card = {.size = sizeof(pes_card),
                              .name = "canary",
                              .summary = "acts at all four places",
                              .version = "1",
                              .taxonomy = "relative, learned, bias",
                              .claims = PES_RELATIVE | PES_NORM_PRESERVING | PES_UNBOUNDED,
                              .options = options};
static const pes_encoding encoding = {
    sizeof(pes_encoding), &card, create, destroy, init, begin, embed, attend, rewrite, untrained};

/* ---- canary_echo: each symbol again, one place later */

enum { symbols = 16 };

static const pes_shortcut bag = {sizeof(pes_shortcut), "bag", .19,
                                 "the answer is one of the symbols read, at first few"};
static const pes_shortcut window = {sizeof(pes_shortcut), "window", 1,
                                    "the answer is the last symbol but one"};
static const pes_shortcut* const shortcuts[] = {&bag, &window, NULL};

static bool create_task(const pes_use* use, const char* const* values, pes_task_created* out,
                        char* error) {
  (void)use, (void)values, (void)error;
  out->self = NULL;
  out->inputs = out->outputs = symbols;
  out->head = PES_TAG;
  out->shortcuts = shortcuts;
  return true;
}
static void destroy_task(void* self) {
  (void)self;
}
static void oracle(const void* self, const int32_t* tokens, int32_t length, int32_t* targets) {
  (void)self;
  for (int32_t t = 0; t < length; ++t) targets[t] = t == 0 ? -1 : tokens[t - 1];
}
static uint64_t mixed(uint64_t x) { /* SplitMix64 */
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
static bool sample(const void* self, const pes_request* r, pes_example* out, char* error) {
  (void)error;
  uint64_t key = mixed(mixed(mixed(r->seed) + (uint64_t)r->split) + r->index);
  key = mixed(key + (uint64_t)r->length);
  for (int32_t t = 0; t < r->length; ++t)
    out->tokens[t] = (int32_t)(mixed(key + (uint64_t)t) >> 40) % symbols;
  oracle(self, out->tokens, r->length, out->targets);
  if (out->optimum != NULL)
    for (int32_t t = 0; t < r->length; ++t) out->optimum[t] = 0;
  return true;
}
static double chance(const void* self, int32_t length) {
  (void)self, (void)length;
  return 1.0 / symbols;
}
static double distinct(const void* self, int32_t length) {
  (void)self;
  return length * log10(symbols);
}

static const pes_card task_card = {.size = sizeof(pes_card),
                                   .name = "canary_echo",
                                   .summary = "each symbol again, one place later",
                                   .version = "1",
                                   .taxonomy = "reach"};
static const pes_task task = {sizeof(pes_task), &task_card, create_task, destroy_task,
                              sample,           oracle,     chance,      distinct};

static const pes_encoding* const encodings[] = {&encoding, NULL};
static const pes_task* const tasks[] = {&task, NULL};
const pes_library pes_entry = {
    sizeof(pes_library), PES_ABI_MAJOR, PES_ABI_MINOR, "canary", "1.0.0", "MIT", encodings, tasks};
